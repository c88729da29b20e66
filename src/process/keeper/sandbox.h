// The kernel's rules for one child: prepared in the keeper, put on in the child before it becomes
// the program. All functions return 0 or an errno.
#pragma once

namespace reef::process {

// The rules about files, TCP and signals, by `version` of Landlock. -1 in `ruleset`: there are
// none.
int make_landlock(int version, bool read_only, bool no_network, const char* const* writables,
                  unsigned writable_count, int& ruleset, int& which_failed);

// In the child, in this order; nothing can be taken off again.
int give_up_privileges();
int put_on_landlock(int ruleset);
int put_on_seccomp(int landlock, bool read_only, bool no_network);

}  // namespace reef::process
