// Built-in facts about well-known models. Prices and limits change: config.toml overrides every
// value. Pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "model/codec.h"

namespace reef::model {

// Finds a model by a backend's name for it: with a date at the end, a vendor or a region in front,
// dots or dashes in its version. The result's id is the one asked for.
std::optional<ModelFacts> known_model(std::string_view id);

}  // namespace reef::model
