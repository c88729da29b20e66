// Which process came from which, as /proc tells it. Blocks for some microseconds; any thread.
#pragma once

#include <sys/types.h>

namespace reef {

enum class Kinship : unsigned char {
  stranger,    // it did not come from the ancestor
  descendant,  // it did, over however many others; not the ancestor itself
  unknown,     // it is gone, or changed faster than it could be looked at
};

// Orphans count as children of whoever adopted them, so what comes from a subreaper
// (PR_SET_CHILD_SUBREAPER) stays its descendant whatever it does. Parents that may not be seen
// (hidepid) belong to other users: what came from them is a stranger.
Kinship kinship(pid_t process, pid_t ancestor);

// Whether this process has children, ended ones too. Where it is a subreaper and has none, nothing
// that lives came from it.
bool has_children();

// Reaps children this process has adopted and that have ended; those it started itself, in a
// process group of their own and its own session, are left to whoever waits for them. Thread-safe.
void reap_adopted();

}  // namespace reef
