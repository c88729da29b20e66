// A configured server: how it is reached, and which of that is secret. Plain values, pure
// functions.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secrets.h"
#include "oauth/settings.h"

namespace reef::mcp {

using reef::kMasked;
using reef::Secrets;

struct Spec {
  std::string name;  // the agent's name for the server

  // A program that speaks over its standard input and output, or ...
  std::string command;
  std::vector<std::string> args = {};
  std::map<std::string, std::string> env = {};  // values may be env:NAME or cmd:COMMAND
  std::string cwd = {};                         // empty: the user's home

  // ... an address that speaks HTTP.
  std::string url = {};
  std::map<std::string, std::string> headers = {};  // values as in env
  std::string auth = {};  // a bearer token or a whole Authorization value; env:NAME or cmd:COMMAND
  // How a token is obtained when there is no auth; the defaults suit any server that answers 401.
  oauth::Settings oauth = {};

  bool auto_restart = true;  // false: once ended or failed, it stays down until its settings change
  std::chrono::milliseconds timeout{60'000};  // for a call that reports no progress

  // A component of this name at its current address (docs/mcp.md); then there is no command and no
  // url.
  bool component = false;

  bool operator==(const Spec&) const = default;
};

// Allows letters, digits, dashes, underscores and points, because it becomes part of tool names.
bool is_server_name(std::string_view name);
// Checks that values are valid and that there is either a command or a url, unless it is a
// component.
Status check(const Spec& spec);

// Equal exactly when one connection can serve both: everything except the name counts, including
// credentials. It holds secrets and must never be shown.
std::string fingerprint(const Spec& spec);

// For lists: masks the values of env and headers, auth, and anything that looks like a secret in
// arguments and addresses, unless it only names where the secret is (env:NAME, cmd:COMMAND).
Spec masked(const Spec& spec);
std::vector<std::string> masked_args(const std::vector<std::string>& args);
std::string masked_url(const std::string& url);

}  // namespace reef::mcp
