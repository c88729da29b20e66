// Texts that must not be shown. Any thread, one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reef {

// Shown to people in place of a secret.
inline constexpr std::string_view kMasked = "***";

// Takes secrets out of other texts (errors, logs).
class Secrets {
 public:
  // Leaves short secrets out: they would be found everywhere.
  void add(std::string secret);
  std::string scrub(std::string text) const;

 private:
  std::vector<std::string> values_;  // the longest first
};

// Whether a setting only says where a secret is (env:NAME, cmd:COMMAND).
bool names_a_place(std::string_view value);
// For lists: masks the value unless it is empty or only names a place.
std::string mask(const std::string& value);

}  // namespace reef
