// Table of contents of oauth/: tokens for servers that want a login (OAuth 2.1, as MCP uses it).
//
//   settings.h    Settings              the `oauth` table of a server
//   address.h     Address, Trust        where we may be sent to
//   challenge.h   Challenge             what a server says when it refuses us
//   metadata.h    ServerMetadata        what servers say of themselves, and where
//   jwt.h         SigningKey            ES256, PKCE, randomness
//   fetch.h       Fetcher, House        small documents from servers that are not trusted
//   discovery.h   discover              from the server to its authorization server
//   client.h      Client, Registration  who we are there
//   tokens.h      Grant                 token endpoints, and what comes from them
//   store.h       Store                 the file tokens are kept in
//   account.h     Account               our standing with one server, shared by its connections
//   redirect.h    RedirectListener      waits for the browser
//   login.h       Login                 one attempt to log in
//   accounts.h    Accounts              all of them
#pragma once

#include "oauth/accounts.h"
