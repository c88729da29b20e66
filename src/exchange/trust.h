// What a foreign file may decide about the session that is made of it. It tells what was said and
// how the session looks; what grants, routes or runs something is the user's to say, here.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace reef::exchange {

// What a source claims for one session beyond what its word is enough for.
struct Claims {
  std::string key;
  std::string mode;                         // permissionMode
  std::string model;                        // modelOverride
  std::set<std::string, std::less<>> rest;  // names of other fields
};

// Leaves in `meta` what is harmless; the rest is noted as claims. Fields this engine keeps about
// imports itself go without a word.
void keep_harmless(json::object& meta, Claims& claims);

// Whether a session that says `mode` would be allowed no more than one that says nothing.
bool is_no_wider(std::string_view mode, std::string_view own);

}  // namespace reef::exchange
