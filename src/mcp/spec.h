// Which server, how it is reached, and what of that is secret. Plain values, pure functions.
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
  std::string name;  // the agent's word for it

  // A program that speaks over its standard input and output, or ...
  std::string command;
  std::vector<std::string> args = {};
  std::map<std::string, std::string> env = {};  // values may be env:NAME or cmd:COMMAND
  std::string cwd = {};                         // empty: the user's home

  // ... an address that speaks HTTP.
  std::string url = {};
  std::map<std::string, std::string> headers = {};  // values as those of env
  std::string auth = {};  // a bearer token or whole Authorization value, env:NAME or cmd:COMMAND
  // How a token is got when there is no auth; the defaults are for whoever answers 401.
  oauth::Settings oauth = {};

  bool auto_restart = true;  // false: once it has ended or failed it is left alone until it changes
  std::chrono::milliseconds timeout{60'000};  // of a call that says nothing meanwhile

  // A component of that name, wherever it is now (docs/mcp.md): neither command nor url.
  bool component = false;

  bool operator==(const Spec&) const = default;
};

// Letters, digits, dashes, underscores and points: names become part of tools' names.
bool is_server_name(std::string_view name);
// Exactly one of command and url, and values that can be what they should.
Status check(const Spec& spec);

// Equal exactly when one connection can serve both: everything but the name counts, credentials
// included. Holds secrets; never shown.
std::string fingerprint(const Spec& spec);

// For lists: values of env and headers, auth, and what looks like a secret in arguments and
// addresses are masked, unless they only name where the secret is (env:NAME, cmd:COMMAND).
Spec masked(const Spec& spec);
std::vector<std::string> masked_args(const std::vector<std::string>& args);
std::string masked_url(const std::string& url);

}  // namespace reef::mcp
