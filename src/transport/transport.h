// Table of contents of transport/: bytes between the daemon and its clients.
//
//   frame.h       FrameReader, make_frame    length-prefixed frames, no I/O
//   connection.h  Connection, Limits         one client: requests in, answers out, bounded
//   listener.h    Listener                   Unix socket and TCP
//   identify.h    unix_peer, tcp_peer        who connected: the user, or a child of the daemon
//   unix_path.h   unix_address               socket paths of any length
#pragma once

#include "transport/connection.h"
#include "transport/frame.h"
#include "transport/identify.h"
#include "transport/listener.h"
