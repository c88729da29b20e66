// Table of contents of oauth/: tokens for servers that want a login (OAuth 2.1, as MCP uses it).
//
//   settings.h    Settings              the `oauth` table of a server
//   address.h     Address, Trust        which addresses we may be sent to
//   challenge.h   Challenge             the refusal of a server
//   metadata.h    ServerMetadata        the metadata of servers, and where it is
//   jwt.h         SigningKey            ES256, PKCE, randomness
//   fetch.h       Fetcher, Needs        small documents from servers that are not trusted
//   discovery.h   discover              from the server to its authorization server
//   client.h      Client, Registration  our identity there
//   tokens.h      Grant                 token endpoints, and the grants they return
//   store.h       Store                 the file that keeps tokens
//   account.h     Account               our account with one server, shared by its connections
//   redirect.h    RedirectListener      waits for the browser
//   login.h       Login                 one attempt to log in
//   accounts.h    Accounts              all accounts
#pragma once

#include "oauth/accounts.h"
