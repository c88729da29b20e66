// Tells whoever started the daemon what it is doing.
#pragma once

namespace reef::daemon {

// Clients can connect: tells systemd and, by "ready\n", who holds the other end of `ready_fd` (-1:
// nobody). They stop reading there, so from now on only the log file is written.
void tell_ready(int ready_fd);
void tell_stopping();

}  // namespace reef::daemon
