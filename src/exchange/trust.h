// Decides what a foreign file may set in the session that is made of it. The file may tell what was
// said and how the session looks; only the user may grant, route or run something here.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace reef::exchange {

// Fields that a source claims for one session and is not trusted to set.
struct Claims {
  std::string key;
  std::string mode;                         // permissionMode
  std::string model;                        // modelOverride
  std::set<std::string, std::less<>> rest;  // names of other fields
};

// Keeps the harmless fields in `meta` and turns the rest into claims. Fields this engine keeps
// about imports themselves are dropped silently.
void keep_harmless(json::object& meta, Claims& claims);

// Whether a session in `mode` may do no more than one in `own`.
bool is_no_wider(std::string_view mode, std::string_view own);

}  // namespace reef::exchange
