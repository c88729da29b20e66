// Table of contents of rpc/: JSON-RPC 2.0 for both ends of a connection, whatever carries it.
//
//   message.h   Message, Refusal, make_...   one message: reading and writing
//   received.h  take_apart                   what a client sent: one message, or a batch
//   calls.h     Call, Calls                  our requests that wait for their answers
//   lines.h     Lines                        bytes, split into lines
#pragma once

#include "rpc/calls.h"
#include "rpc/lines.h"
#include "rpc/message.h"
#include "rpc/received.h"
