// What is known of well-known models without asking anybody. Prices and limits change: config.toml
// overrides every value. Pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "model/codec.h"

namespace reef::model {

// By the name a backend uses, in any of its forms: with a date at the end, a vendor or a region in
// front, points or dashes in its version. The id is the one asked for.
std::optional<ModelFacts> known_model(std::string_view id);

}  // namespace reef::model
