// Where a provider's key comes from: the words themselves, `env:NAME`, or `cmd:COMMAND`, whose
// first line of output it is. Keys are never logged and never part of an error.
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
// For lists: "env:NAME", "cmd", "set", "none"; never the key, nor a command that may hold it.
std::string describe(const KeySource& source);

// Waits for the command: call it on a pool thread. A command runs under `sh -c` in a process group
// of its own, which is killed when `patience` ends or a stop is asked for.
Result<std::string> read_key(const KeySource& source, std::chrono::milliseconds patience,
                             std::stop_token stop = {});

}  // namespace reef::model
