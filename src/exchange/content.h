// Messages for formats that know text and calls, but no blocks: takes a message apart into what
// such a format can hold and the layout of its blocks, and puts it together again. Pure functions.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace reef::exchange {

struct Plain {
  boost::json::string text;      // the text blocks, joined by newlines
  boost::json::string thinking;  // the thinking blocks, the same way
  json::array calls;             // the toolCall blocks
  // Says for each block which part holds it; a block that fits no part stands here whole. Empty
  // when the blocks have the usual order: thinking, text, calls, one each of the first two.
  json::array layout;
};

enum class Thinking : std::uint8_t { apart, in_layout };

// Takes a message's `content` apart.
Plain take_apart(const json::object& message, Thinking thinking);
// Returns the blocks again. When somebody changed the parts so that the layout no longer fits, the
// blocks have the usual order, followed by those only the layout holds.
json::array put_together(Plain parts);

// The usage of a reply whose tokens nobody counted.
json::object no_usage();

// Takes a member out of an object: null when it is missing; take_text leaves anything that is not
// text and returns an empty text.
json::value take(json::object& from, std::string_view key);
boost::json::string take_text(json::object& from, std::string_view key);

}  // namespace reef::exchange
