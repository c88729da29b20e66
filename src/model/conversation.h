// Makes a history valid for one API: whatever was said, by whatever model, on whatever branch, the
// result obeys the rules of that API. Every codec starts from here. Pure functions.
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

// The characters that tool-call ids and tool names may have: ASCII letters, digits, and these.
struct NameRule {
  std::string_view also = "_-";
  std::size_t length_max = 64;
  bool letter_first = false;  // a letter or an underscore
};

enum class Thoughts : std::uint8_t {
  none,        // never sent back
  own_signed,  // sent back to the api and model that made and signed them
  own,         // the same, whether signed or not
};

struct ConversationRules {
  std::string_view api;  // thoughts and signatures made by this api are its own
  NameRule id;
  NameRule name;
  Thoughts thoughts = Thoughts::none;
  bool images_in_results = true;  // otherwise images follow the results, as the user's
  // A request without tools must not contain calls: calls and results become text.
  bool calls_need_tools = false;
  bool user_first = true;
  bool user_last = true;
  std::span<const std::string_view> image_types;  // empty allows any
};

// PNG, JPEG, GIF and WebP, which nearly every model with image input accepts.
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
  std::string id;    // id of the call, which is in the turn before
  std::string name;  // name of the call
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
//   there are no other results. A call that never got a result gets an error that says so.
// - Ids keep the rule and are different from each other; names keep the rule.
// - No text is blank; every text is UTF-8. No assistant's turn ends in a thought.
struct Conversation {
  std::string system;  // empty when it was blank
  std::vector<Turn> turns;
  std::vector<Tool> tools;        // with names for the API, each once, of type object
  ToolChoice tool_choice;         // `named` names one of `tools`; `automatic` without tools
  std::vector<std::string> stop;  // none is blank
};

Conversation prepare(const Request& request, const ModelFacts& facts,
                     const ConversationRules& rules);

// Converts the names of a request's tools to names that the API allows, and back.
class ToolNames {
 public:
  ToolNames(const ToolList& tools, const NameRule& rule);

  // A name that is not among the tools (history may contain any) is only made to keep the rule.
  std::string to_api(std::string_view name) const;
  // A name that the model made up is returned unchanged.
  std::string from_api(std::string_view name) const;

 private:
  NameRule rule_;
  std::map<std::string, std::string, std::less<>> to_api_, from_api_;
};

// True when both name the same model: they are equal, or one has a release date at its end;
// `-latest` is ignored.
bool same_model(std::string_view a, std::string_view b);

}  // namespace reef::model
