// Tells systemd what the daemon is doing, when it was started by systemd. The protocol is one
// datagram to $NOTIFY_SOCKET; libsystemd would add five libraries to the start-up for it.
#pragma once

#include <string_view>

namespace reef::daemon {

// For example "READY=1" or "STOPPING=1". Does nothing without $NOTIFY_SOCKET.
void notify_systemd(std::string_view state);

}  // namespace reef::daemon
