// One file of a dumped memory: a card with the entry's metadata, then the content. The layout is
// that of RFC 0150, with rows of our own for what it loses. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/crmem.h"

namespace reef::memory {

// The rows of a file; a missing row stays unset.
struct Card {
  std::optional<std::uint64_t> id;
  std::optional<std::uint64_t> created_at;
  std::optional<std::string> name;  // set where the file's name cannot be the entry's
  std::vector<std::string> aliases;
  std::string content;
};

std::string write_card(const Entry& entry, bool with_name);
// A text that does not start with a card is all content. The error `invalid` says which row is
// wrong.
Result<Card> parse_card(std::string_view text);

// Escapes text for HTML, and back; exact for every text.
std::string escape_html(std::string_view text);
std::string unescape_html(std::string_view text);

}  // namespace reef::memory
