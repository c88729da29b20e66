// The kernel's rules for one child: the keeper prepares them, and the child applies them to itself
// before it becomes the program. All functions return 0 or an errno.
#pragma once

namespace reef::process {

// Makes the rules for files, TCP and signals that this `version` of Landlock has. `ruleset` becomes
// -1 when there are none.
int make_landlock(int version, bool read_only, bool no_network, const char* const* writables,
                  unsigned writable_count, int& ruleset, int& which_failed);

// The child calls these in this order; nothing can be undone.
int give_up_privileges();
int put_on_landlock(int ruleset);
int put_on_seccomp(int landlock, bool read_only, bool no_network);

}  // namespace reef::process
