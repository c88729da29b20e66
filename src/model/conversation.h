// A history made valid for one API: whatever was said, by whatever model, on whatever branch, what
// comes out keeps the rules of the API it goes to. Every codec starts from here. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/codec.h"

namespace reef::model {

// What tool-call ids and tool names may look like: ASCII letters, digits, and these.
struct NameRule {
  std::string_view also = "_-";
  std::size_t length_max = 64;
  bool letter_first = false;  // or an underscore
};

enum class Thoughts : std::uint8_t {
  none,        // not given back
  own_signed,  // given back to the api and model that made and signed them
  own,         // the same, signed or not
};

struct ConversationRules {
  std::string_view api;  // whose thoughts and signatures are its own
  NameRule id;
  NameRule name;
  Thoughts thoughts = Thoughts::none;
  bool images_in_results = true;  // else they follow the results, as the user's
  // A request that declares no tool must not hold a call: calls and results become text.
  bool calls_need_tools = false;
  bool user_first = true;
  bool user_last = true;
  std::span<const std::string_view> image_types;  // empty: any
};

// PNG, JPEG, GIF and WebP: what nearly every model that sees can see.
extern const std::span<const std::string_view> kCommonImageTypes;

struct TextPiece {
  std::string text;
  std::string signature;
};
struct ThinkingPiece {
  std::string thinking;
  std::string signature;
  bool redacted = false;
};
struct ImagePiece {
  std::string data;  // base64
  std::string mime_type;
};
struct CallPiece {
  std::string id;
  std::string name;
  json::object arguments;
  std::string signature;
};
struct ResultPiece {
  std::string id;    // of the call, which stands in the turn before
  std::string name;  // of the call
  std::vector<std::variant<TextPiece, ImagePiece>> content;  // never empty
  bool is_error = false;
};
using Piece = std::variant<TextPiece, ThinkingPiece, ImagePiece, CallPiece, ResultPiece>;

struct Turn {
  enum class Role : std::uint8_t { user, assistant };
  Role role = Role::user;
  std::vector<Piece> pieces;  // never empty
};

// - Roles alternate; with user_first and user_last the user has the first and the last word.
// - The turn after one with calls begins with their results, one each, in the order of the calls;
//   there are no other results. A call that never got one has an error that says so.
// - Ids keep the rule and are different from each other; names keep the rule.
// - No text is blank; every text is UTF-8. No assistant's turn ends in a thought.
struct Conversation {
  std::string system;  // empty when there is nothing but blanks
  std::vector<Turn> turns;
  std::vector<Tool> tools;        // with names as the API takes them, each once, of type object
  ToolChoice tool_choice;         // `named` names one of `tools`; `automatic` when there are none
  std::vector<std::string> stop;  // none of them blank
};

Conversation prepare(const Request& request, const ModelFacts& facts,
                     const ConversationRules& rules);

// The names of a request's tools as the API takes them, and back.
class ToolNames {
 public:
  ToolNames(const std::vector<Tool>& tools, const NameRule& rule);

  // Names that are not among the tools (history may hold any) are only made to keep the rule.
  std::string to_api(std::string_view name) const;
  // Names the model made up come back as they are.
  std::string from_api(std::string_view name) const;

 private:
  NameRule rule_;
  std::map<std::string, std::string, std::less<>> to_api_, from_api_;
};

// Two names of one model: the same, or one with the date of its release at the end; `-latest` says
// nothing.
bool same_model(std::string_view a, std::string_view b);

}  // namespace reef::model
