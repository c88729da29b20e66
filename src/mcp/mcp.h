// Table of contents of mcp/: servers of the Model Context Protocol, as their client.
//
//   spec.h       Spec, fingerprint, Secrets   which server, and what of that is secret
//   json_rpc.h   Message, Lines               JSON-RPC 2.0
//   transport.h  Transport                    how messages travel
//     stdio.cpp                                 a program
//     http.cpp                                  Streamable HTTP
//     sse_legacy.cpp                            HTTP+SSE of 2024-11-05
//   content.h    Tool, CallResult             what servers offer and answer
//   peer.h       Peer                         one connected server, both eras
//   pool.h       Pool                         all of them, shared by those who declare them
#pragma once

#include "mcp/peer.h"
#include "mcp/pool.h"
#include "mcp/spec.h"
