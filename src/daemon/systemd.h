// Tells systemd what the daemon is doing, when systemd started it. The protocol is one datagram to
// $NOTIFY_SOCKET; libsystemd would make the program load five more libraries for it.
#pragma once

#include <string_view>

namespace reef::daemon {

// For example "READY=1" or "STOPPING=1". Does nothing without $NOTIFY_SOCKET.
void notify_systemd(std::string_view state);

}  // namespace reef::daemon
