// A Craft bundle: a session and its files in one JSON value. The readers' own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// What of a bundle is wanted, in the order the file has it.
enum class BundlePart : std::uint8_t {
  version,
  header,
  messages,  // the list begins
  message,
  files,  // the list begins
  file,
};

// Gives the parts to `take` as the JSON texts they are, one at a time, so that a bundle need not be
// held whole. corrupt when the file ends before the bundle does, or is no JSON object.
Status scan_bundle(Files& files, const std::string& path,
                   const std::function<Status(BundlePart, std::string_view)>& take);

Status read_craft_bundle(Files& files, const std::string& path, Intake& intake);

// The rules for the names of files in a bundle.
Status check_bundle_path(std::string_view path);

}  // namespace reef::exchange
