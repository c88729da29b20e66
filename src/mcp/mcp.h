// Table of contents of mcp/: a client for servers of the Model Context Protocol.
//
//   spec.h       Spec, fingerprint, Secrets   a configured server, and its secrets
//   transport.h  Transport                    how messages travel
//     stdio.cpp                                 a program
//     http.cpp                                  Streamable HTTP
//     sse_legacy.cpp                            HTTP+SSE of 2024-11-05
//   content.h    Tool, CallResult             the tools and results of servers
//   peer.h       Peer                         one connected server, with or without handshake
//     peer.cpp                                  what is asked of it
//     peer_opening.cpp                          which revision it speaks
//     peer_incoming.cpp                         what it says by itself
//   connections.h Connections                 all servers, shared by the agents that declare them
#pragma once

#include "mcp/connections.h"
#include "mcp/peer.h"
#include "mcp/spec.h"
