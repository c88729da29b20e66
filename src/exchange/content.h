// Messages in formats that know text and calls, but no blocks: a message taken apart into what such
// a format can hold and how its blocks stood, and put together again. Pure functions.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace reef::exchange {

struct Plain {
  boost::json::string text;      // the text blocks, joined by newlines
  boost::json::string thinking;  // the thinking blocks, the same way
  json::array calls;             // the toolCall blocks
  // Where each block's part is, and all of those no part is for. Empty when they stand in the usual
  // order: thinking, text, calls, one each of the first two.
  json::array layout;
};

enum class Thinking : std::uint8_t { apart, in_layout };

// Of a message's `content`.
Plain take_apart(const json::object& message, Thinking thinking);
// The blocks again. Where the layout does not fit the parts, because somebody changed them, they
// stand in the usual order, with the blocks only it has behind them.
json::array put_together(Plain parts);

// What a reply says of its tokens when nobody counted them.
json::object no_usage();

// Takes a member out of an object: null when it is not there, no text when it is none.
json::value take(json::object& from, std::string_view key);
boost::json::string take_text(json::object& from, std::string_view key);

}  // namespace reef::exchange
