// The filter language of docs/organise.md: text is parsed into a value, which is tested on rows.
// Pure functions; nothing here reads a transcript.
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
  std::size_t place = 0;           // where it begins, in characters from 1
  std::vector<std::string> texts;  // ids, or a single text; words in lower case
  Compare compare = Compare::none;
  std::string value;  // a label's value, as written
  double number = 0;
  TimePoint time;
  std::chrono::milliseconds span{0};
};

// A term, or filters of which all must hold, or any, or one that must not. An empty filter holds
// for everything.
struct Filter {
  enum class Kind : std::uint8_t { all, any, no, term };
  Kind kind = Kind::all;
  std::vector<Filter> parts;
  Term term;
};

// Errors name the place, what is there and what could be.
Result<Filter> parse_filter(std::string_view text);

// Reports statuses that do not exist and values that a label's type cannot be compared with.
// Somebody who is typing wants to know; a saved view may contain them.
Status check_filter(const Filter& filter, const Statuses& statuses, const Labels& labels);

struct Look {
  const Statuses& statuses;
  const Labels& labels;
  TimePoint now;
};
// True for the label or one below it; `id::value` must match exactly.
bool has_label(const session::Row& row, std::string_view wanted, const Labels& labels);
bool holds(const Filter& filter, const session::Row& row, const Look& look);

}  // namespace reef::organise
