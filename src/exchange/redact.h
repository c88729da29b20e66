// Finds secrets that must not be copied along with a conversation: keys, tokens and passwords of
// the common kinds. Linear in the length of the text; text that cannot begin a secret is skipped at
// memory speed. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reef::exchange {

struct Secret {
  std::size_t at = 0;
  std::size_t size = 0;
  std::string_view kind;
};

// In order, without overlap.
std::vector<Secret> find_secrets(std::string_view text);

class Redactor {
 public:
  // False when the text holds no secret; else `out` is the text with "[redacted:KIND]" in place of
  // every secret.
  bool redact(std::string_view text, std::string& out);
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

}  // namespace reef::exchange
