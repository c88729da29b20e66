// Table of contents of base/, on which every other library stands.
//
//   result.h      Result<T>, Error, Errc, REEF_TRY        errors as values
//   assert.h      REEF_ASSERT                             invariants, in all builds
//   task.h        Task<T>, Executor                       coroutines
//   task_group.h  TaskGroup                               owner of background tasks
//   notify.h      Notify, sleep_for, yield_to_loop        waiting without blocking
//   shield.h      shielded                                protects work from a cancellation
//   pool.h        Pool                                    threads for blocking work
//   helper.h      Helper                                  a second thread for a millisecond
//   files.h       Files, Fd, replace_atomically           every system call on files
//   json.h        parse, write, merge_patch               Boost.JSON behind Results
//   json_scanner.h Scanner                                single values off JSON, without a tree
//   base64.h      to_base64, from_base64                  bytes in JSON
//   text.h        trim, kWhiteSpace                       the ends of a text
//   toml_lines.h  split_lines, toml_quoted                TOML edited as text
//   digest.h      sha256                                  what proves that bytes are the same
//   utf8.h        valid, sanitize, prefix, printable      text that is safe to store and show
//   visible.h     visible, escape_unseen                  foreign text on a terminal
//   overload.h    Overload                                one lambda per variant alternative
//   ancestry.h    kinship                                 which process came from which
//   tcp_table.h   loopback_socket, listener_is_ours       the owner of a TCP socket
//   clock.h       Clock, TimePoint, format_iso            time that tests can control
//   secrets.h     Secrets, mask                           keeps secrets from being shown
//   random.h      Random                                  randomness that tests can replay
//   log.h         log::info ...                           stderr and logs/reefd.log
#pragma once

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/task.h"
