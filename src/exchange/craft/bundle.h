// A Craft bundle: a session and its files in one JSON value. Used only by the readers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// The parts of a bundle that are wanted, in the order of the file.
enum class BundlePart : std::uint8_t {
  version,
  header,
  messages,  // the list begins
  message,
  files,  // the list begins
  file,
};

// Gives `take` the JSON text of each part, one at a time, so that a bundle need not be held whole.
// corrupt when the file ends before the bundle does, or is not a JSON object.
Status scan_bundle(Files& files, const std::string& path,
                   const std::function<Status(BundlePart, std::string_view)>& take);

// Whether the file begins like a bundle, with a session.
bool is_craft_bundle(Files& files, const std::string& path);

Status read_craft_bundle(Files& files, const std::string& path, Intake& intake);

// Checks the name of a file in a bundle.
Status check_bundle_path(std::string_view path);

}  // namespace reef::exchange
