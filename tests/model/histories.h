// Histories to give to models: built by hand in one line each, or random and as bad as possible.
#pragma once

#include <cstdint>
#include <string>

#include "model/provider.h"

namespace reef::test {

session::MessagePtr user_says(std::string text);
session::MessagePtr assistant_says(std::vector<session::Block> content, std::string api = "",
                                   std::string model = "");
session::Block calls(std::string id, std::string name, json::object arguments = {});
session::MessagePtr result_of(std::string id, std::string text, bool is_error = false);

// Random messages in any order: results without calls, calls without results, repeated ids, blank
// texts, names no API takes, damaged images, thoughts with and without signatures of every api in
// `apis` by every model in `models`, tools with schemas few take. The same seed gives the same
// request.
model::Request random_request(std::uint64_t seed, const std::vector<std::string>& apis,
                              const std::vector<std::string>& models = {"m", "m-20250101",
                                                                        "other"});

}  // namespace reef::test
