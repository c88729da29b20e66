// Reads a provider's key from its source: the literal text, `env:NAME`, or `cmd:COMMAND` (the first
// line of its output). Keys are never logged and never part of an error.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::model {

struct KeySource {
  enum class Kind : std::uint8_t { none, words, environment, command };
  Kind kind = Kind::none;
  std::string value;

  bool operator==(const KeySource&) const = default;
};
KeySource key_source_from(std::string_view text);
// Describes the source for lists: "env:NAME", "cmd", "set", "none"; never the key, nor a command,
// which may contain it.
std::string describe(const KeySource& source);

// Waits for the command, so call it on a pool thread. A command runs under `sh -c` in its own
// process group, which is killed when `patience` ends or a stop is requested.
Result<std::string> read_key(const KeySource& source, std::chrono::milliseconds patience,
                             std::stop_token stop = {});

}  // namespace reef::model
