// The changeable facts about a session: their names, types and limits. Pure functions. The names
// are those of Clawdbot's SessionEntry and of Craft's header where they have one.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace reef::session {

struct MetaField {
  enum class Type : std::uint8_t { text, flag, number, choice, texts };
  std::string_view name;
  Type type;
  std::string_view choices;  // for a choice, separated by '|'
  std::string_view what;     // for help and errors
};

// The fields a client may change, in the order they are shown.
std::span<const MetaField> meta_fields();

// A merge patch from a client: null removes a field. Refuses unknown names and wrong values by
// name.
Status check_patch(const json::object& patch);

// Reads "field=value" of a command line: true, false, numbers, a,b,c for lists; empty removes it.
Result<json::object> patch_from_text(std::string_view field, std::string_view value);

}  // namespace reef::session
