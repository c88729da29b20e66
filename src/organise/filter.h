// The filter language of docs/organise.md: text becomes a value, which is held against rows. Pure
// functions; nothing here reads a transcript.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "organise/labels.h"
#include "organise/statuses.h"
#include "session/row.h"

namespace reef::organise {

inline constexpr std::size_t kFilterBytesMax = 4096;
inline constexpr std::size_t kFilterDepthMax = 32;

enum class Compare : std::uint8_t { none, equal, less, at_most, more, at_least };

struct Term {
  enum class Field : std::uint8_t {
    status,
    label,
    flagged,
    archived,
    unread,
    imported,
    agent,
    sender,
    key,
    source,
    model,
    words,
    idle,
    age,
    before,
    after,
    messages,
    tokens,
    cost,
  };
  Field field = Field::words;
  std::size_t place = 0;           // of its first character, from 1
  std::vector<std::string> texts;  // ids, or the one text; words in lower case
  Compare compare = Compare::none;
  std::string value;  // a label's, as written
  double number = 0;
  TimePoint time;
  std::chrono::milliseconds span{0};
};

// A term, or several filters of which all or any must hold, or one that must not. Without anything
// in it, it holds for everything.
struct Filter {
  enum class Kind : std::uint8_t { all, any, no, term };
  Kind kind = Kind::all;
  std::vector<Filter> parts;
  Term term;
};

// Errors name the place, what stands there and what could.
Result<Filter> parse_filter(std::string_view text);

// Statuses that do not exist and values a label's type cannot be compared with: what somebody who
// is typing wants to hear, and a saved view may live with.
Status check_filter(const Filter& filter, const Statuses& statuses, const Labels& labels);

struct Look {
  const Statuses& statuses;
  const Labels& labels;
  TimePoint now;
};
// The label or one below it; `id::value` is exactly that.
bool has_label(const session::Row& row, std::string_view wanted, const Labels& labels);
bool holds(const Filter& filter, const session::Row& row, const Look& look);

}  // namespace reef::organise
