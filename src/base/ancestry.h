// Tells from /proc which process came from which. Blocks for some microseconds; any thread.
#pragma once

#include <sys/types.h>

namespace reef {

enum class Kinship : unsigned char {
  stranger,    // it did not come from the ancestor
  descendant,  // it did, over however many others; not the ancestor itself
  unknown,     // it is gone, or changed faster than it could be looked at
};

// Orphans count as children of the process that adopted them, so a descendant of a subreaper
// (PR_SET_CHILD_SUBREAPER) stays one whatever it does. Parents that may not be seen (hidepid)
// belong to other users, so their descendants are strangers.
Kinship kinship(pid_t process, pid_t ancestor);

// Whether this process has children, ended ones too. A subreaper without children has no living
// descendants.
bool has_children();

// Reaps ended children that this process has adopted. Those it started itself, in a process group
// of their own and its own session, are left to the code that waits for them. Thread-safe.
void reap_adopted();

}  // namespace reef
