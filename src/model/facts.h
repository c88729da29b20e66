// Built-in facts about well-known models. Prices and limits change: config.toml overrides every
// value. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "session/message.h"

namespace reef::model {

// The facts about a model, from the built-in table, config.toml or a backend's own list.
struct ModelFacts {
  std::string id;
  std::int64_t context_window = 0;  // tokens; 0 when unknown
  std::int64_t max_output = 0;
  bool images = true;
  bool tools = true;
  bool thinking = false;
  session::Cost price;  // US dollars per million tokens; `total` is not used
};

// Finds a model by a backend's name for it: with a date at the end, a vendor or a region in front,
// dots or dashes in its version. The result's id is the one asked for.
std::optional<ModelFacts> known_model(std::string_view id);

}  // namespace reef::model
