// Table of contents of base/, the room every other library stands on.
//
//   result.h      Result<T>, Error, Errc, REEF_TRY        errors as values
//   assert.h      REEF_ASSERT                             invariants, in all builds
//   task.h        Task<T>, Executor                       coroutines
//   task_group.h  TaskGroup                               owner of background tasks
//   notify.h      Notify, sleep_for, yield_to_loop        waiting without blocking
//   change_log.h  ChangeLog                              what changed, for readers that come back
//   shield.h      shielded                                what a cancellation must not cut
//   pool.h        Pool                                    threads for what blocks
//   helper.h      Helper                                  a second thread for a millisecond
//   files.h       Files, Fd, replace_atomically           every system call on files
//   json.h        parse, write, merge_patch               Boost.JSON behind Results
//   json_scanner.h Scanner                                single values off JSON, without a tree
//   base64.h      to_base64, from_base64                  bytes in JSON
//   utf8.h        valid, sanitize, prefix, printable      text that is safe to store and show
//   visible.h     visible, escape_unseen                  text of others on a terminal
//   overload.h    Overload                                one lambda per variant alternative
//   ancestry.h    kinship                                 which process came from which
//   tcp_table.h   loopback_socket, listener_is_ours       whose a TCP socket is
//   clock.h       Clock, TimePoint, format_iso            the time of day, which tests can own
//   loop_time.h   Moment, steady_now                      the time of a loop, likewise
//   alarm.h       Alarm                                   a timer of a loop
//   secrets.h     Secrets, mask                           what must not be shown
//   random.h      Random                                  randomness tests can replay
//   log.h         log::info ...                           stderr and logs/reefd.log
#pragma once

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/task.h"
