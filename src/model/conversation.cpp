#include "model/conversation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/overload.h"
#include "base/utf8.h"
#include "session/context.h"

namespace reef::model {
namespace {

constexpr std::array<std::string_view, 4> kCommonTypes = {"image/png", "image/jpeg", "image/gif",
                                                          "image/webp"};
constexpr std::string_view kInterrupted =
    "Interrupted: this call was not finished and has no result.";
constexpr std::string_view kNoOutput = "(no output)";
constexpr std::string_view kOpening = "(The conversation begins with the assistant's words.)";
constexpr std::string_view kContinue = "Continue.";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool keeps(std::string_view name, const NameRule& rule) {
  if (name.empty() || name.size() > rule.length_max) return false;
  if (rule.letter_first && !is_letter(name[0]) && name[0] != '_') return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || is_digit(c) || rule.also.find(c) != std::string_view::npos;
  });
}

// Replaces characters that the rule forbids by underscores, or drops them if it forbids those too.
std::string cleaned(std::string_view name, const NameRule& rule, std::string_view when_empty) {
  if (keeps(name, rule)) return std::string(name);
  const bool underscore = rule.also.find('_') != std::string_view::npos;
  std::string out;
  for (const char c : name) {
    if (is_letter(c) || is_digit(c) || rule.also.find(c) != std::string_view::npos) {
      out += c;
    } else if (underscore) {
      out += '_';
    }
  }
  if (out.empty()) out = when_empty;
  if (rule.letter_first && !is_letter(out[0]) && out[0] != '_') out.insert(0, 1, 't');
  out.resize(std::min(out.size(), rule.length_max));
  return out;
}

// Returns `name`, or `name` with the next number that makes it free, cut to keep the length. The
// number only grows, so that a thousand equal names take a thousand steps.
template <class Taken>
std::string first_free(const std::string& name, const NameRule& rule, std::size_t& number,
                       const Taken& taken) {
  if (!taken(name)) return name;
  while (true) {
    const auto suffix = std::to_string(++number);
    REEF_ASSERT(suffix.size() <= rule.length_max);
    auto candidate = name.substr(0, rule.length_max - suffix.size()) + suffix;
    if (!taken(candidate)) return candidate;
  }
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

std::string valid(const std::string& text) {
  return utf8::valid(text) ? text : utf8::sanitize(text);
}

bool is_base64(std::string_view data) {
  if (data.empty() || data.size() % 4 != 0) return false;
  const auto end = data.find_last_not_of('=');
  if (end == std::string_view::npos || data.size() - end > 3) return false;
  return std::all_of(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                     [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '/'; });
}

// Finds the result of each call. Ids need not be unique in a history: some backends start again at
// call_0 with every reply, some give none.
class Pairing {
 public:
  using CallPlace = std::pair<std::size_t, std::size_t>;  // message, block

  explicit Pairing(const std::vector<session::MessagePtr>& messages) {
    std::map<std::string, std::vector<CallPlace>, std::less<>> open;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (const auto* reply = std::get_if<session::AssistantMessage>(messages[i].get())) {
        for (std::size_t j = 0; j < reply->content.size(); ++j)
          if (const auto* call = std::get_if<session::ToolCallBlock>(&reply->content[j]))
            open[key(call->id, call->name)].emplace_back(i, j);
      } else if (const auto* result = std::get_if<session::ToolResultMessage>(messages[i].get())) {
        const auto found = open.find(key(result->tool_call_id, result->tool_name));
        if (found == open.end()) continue;
        // A result belongs to the latest reply with such a call, and to the first such call in it.
        auto& calls = found->second;
        const auto place = std::find_if(calls.begin(), calls.end(), [&](const CallPlace& call) {
          return call.first == calls.back().first;
        });
        results_.emplace(*place, result);
        calls.erase(place);
        if (calls.empty()) open.erase(found);
      }
    }
  }

  const session::ToolResultMessage* result_of(CallPlace call) const {
    const auto found = results_.find(call);
    return found == results_.end() ? nullptr : found->second;
  }

 private:
  static std::string key(const std::string& id, const std::string& name) {
    return id.empty() ? "name " + name : "id " + id;
  }

  std::map<CallPlace, const session::ToolResultMessage*> results_;
};

class Preparation {
 public:
  Preparation(const Request& request, const ModelFacts& facts, const ConversationRules& rules)
      : request_(request),
        facts_(facts),
        rules_(rules),
        names_(request.tools, rules.name),
        pairing_(request.messages),
        calls_as_text_(!facts.tools || (rules.calls_need_tools && request.tools.empty())) {}

  Conversation run() {
    for (std::size_t i = 0; i < request_.messages.size(); ++i) {
      const auto message = session::for_model(request_.messages[i]);
      if (!message) continue;
      if (const auto* user = std::get_if<session::UserMessage>(message.get())) {
        take(*user);
      } else if (const auto* reply = std::get_if<session::AssistantMessage>(message.get())) {
        take(*reply, i);
      }
    }
    finish_turns();
    declare_tools();
    if (!is_blank(request_.system)) out_.system = valid(request_.system);
    for (const auto& words : request_.stop)
      if (!is_blank(words)) out_.stop.push_back(valid(words));
    return std::move(out_);
  }

 private:
  std::vector<Piece>& turn_of(Turn::Role role) {
    if (out_.turns.empty() || out_.turns.back().role != role) {
      if (!out_.turns.empty()) drop_last_thoughts();
      // Dropping may have removed the whole turn, so that the last turn now has this role.
      if (out_.turns.empty() || out_.turns.back().role != role)
        out_.turns.push_back(Turn{role, {}});
    }
    return out_.turns.back().pieces;
  }

  // Some APIs refuse a turn that ends in a thought, and it is of no use to the others.
  void drop_last_thoughts() {
    auto& turn = out_.turns.back();
    if (turn.role != Turn::Role::assistant) return;
    while (!turn.pieces.empty() && std::holds_alternative<ThinkingPiece>(turn.pieces.back()))
      turn.pieces.pop_back();
    if (turn.pieces.empty()) out_.turns.pop_back();
  }

  void add_text(Turn::Role role, const std::string& text, const std::string& signature = {}) {
    if (!is_blank(text)) turn_of(role).push_back(TextPiece{valid(text), signature});
  }

  // Says why the model cannot be shown the image; empty when it can.
  std::string why_not(const session::ImageBlock& image) const {
    if (!facts_.images) return "this model takes no images";
    if (!rules_.image_types.empty() &&
        std::find(rules_.image_types.begin(), rules_.image_types.end(), image.mime_type) ==
            rules_.image_types.end())
      return "images of this type are not taken";
    if (!is_base64(image.data) || image.mime_type.empty()) return "its data is damaged";
    return {};
  }

  std::variant<TextPiece, ImagePiece> shown(const session::ImageBlock& image) const {
    const auto reason = why_not(image);
    if (reason.empty()) return ImagePiece{image.data, image.mime_type};
    const auto type =
        image.mime_type.empty() ? std::string("unknown type") : utf8::excerpt(image.mime_type);
    return TextPiece{fmt::format("(An image, {}, is not shown: {}.)", type, reason), {}};
  }

  void add_image(Turn::Role role, const session::ImageBlock& image) {
    std::visit([&](auto piece) { turn_of(role).push_back(std::move(piece)); }, shown(image));
  }

  void take(const session::UserMessage& user) {
    for (const auto& block : user.content) {
      if (const auto* text = std::get_if<session::TextBlock>(&block)) {
        add_text(Turn::Role::user, text->text);
      } else if (const auto* image = std::get_if<session::ImageBlock>(&block)) {
        add_image(Turn::Role::user, *image);
      }
    }
  }

  void take(const session::AssistantMessage& reply, std::size_t index) {
    const bool own = reply.api == rules_.api && same_model(reply.model, request_.model);
    std::vector<std::pair<std::size_t, CallPiece>> calls;
    for (std::size_t j = 0; j < reply.content.size(); ++j) {
      std::visit(Overload{
                     [&](const session::TextBlock& b) {
                       add_text(Turn::Role::assistant, b.text, own ? b.signature : std::string());
                     },
                     [&](const session::ThinkingBlock& b) {
                       if (own && is_given(b))
                         turn_of(Turn::Role::assistant)
                             .push_back(ThinkingPiece{valid(b.thinking), b.signature, b.redacted});
                     },
                     // No API accepts images in an assistant's turn.
                     [&](const session::ImageBlock&) {
                       add_text(Turn::Role::assistant,
                                "(An image the assistant made is not shown.)");
                     },
                     [&](const session::ToolCallBlock& b) {
                       CallPiece call{new_id(b.id), names_.to_api(b.name), b.arguments,
                                      own ? b.signature : std::string()};
                       if (calls_as_text_) {
                         add_text(Turn::Role::assistant,
                                  fmt::format("(called the tool {} with {})", call.name,
                                              valid(json::write(b.arguments))));
                       } else {
                         turn_of(Turn::Role::assistant).push_back(call);
                       }
                       calls.emplace_back(j, std::move(call));
                     },
                     [](const session::OtherBlock&) {},
                 },
                 reply.content[j]);
    }
    if (!calls.empty()) add_results(index, std::move(calls));
  }

  bool is_given(const session::ThinkingBlock& thought) const {
    switch (rules_.thoughts) {
      case Thoughts::none:
        return false;
      case Thoughts::own_signed:
        return !thought.signature.empty();
      case Thoughts::own:
        return !thought.signature.empty() || !is_blank(thought.thinking);
    }
    return false;
  }

  void add_results(std::size_t index, std::vector<std::pair<std::size_t, CallPiece>> calls) {
    std::vector<Piece> after;
    for (auto& [block, call] : calls) {
      ResultPiece result{std::move(call.id), std::move(call.name), {}, false};
      if (const auto* message = pairing_.result_of({index, block})) {
        result.is_error = message->is_error;
        for (const auto& part : message->content) add_part(result, part, after);
        if (result.content.empty()) result.content.push_back(TextPiece{std::string(kNoOutput), {}});
      } else {
        result.is_error = true;
        result.content.push_back(TextPiece{std::string(kInterrupted), {}});
      }
      if (calls_as_text_) {
        add_as_text(std::move(result));
      } else {
        turn_of(Turn::Role::user).push_back(std::move(result));
      }
    }
    if (after.empty()) return;
    auto& pieces = turn_of(Turn::Role::user);
    pieces.insert(pieces.end(), std::make_move_iterator(after.begin()),
                  std::make_move_iterator(after.end()));
  }

  void add_part(ResultPiece& result, const session::Block& block, std::vector<Piece>& after) {
    if (const auto* text = std::get_if<session::TextBlock>(&block)) {
      if (!is_blank(text->text)) result.content.push_back(TextPiece{valid(text->text), {}});
    } else if (const auto* image = std::get_if<session::ImageBlock>(&block)) {
      auto part = shown(*image);
      if (std::holds_alternative<ImagePiece>(part) &&
          (calls_as_text_ || !rules_.images_in_results)) {
        result.content.push_back(TextPiece{"(An image, which follows the results.)", {}});
        after.push_back(
            TextPiece{fmt::format("(The image of the result of {}:)", result.name), {}});
        after.push_back(std::get<ImagePiece>(std::move(part)));
      } else {
        result.content.push_back(std::move(part));
      }
    }
  }

  void add_as_text(ResultPiece result) {
    auto text =
        fmt::format("({} of the tool {})", result.is_error ? "error" : "result", result.name);
    for (const auto& part : result.content) text += "\n" + std::get<TextPiece>(part).text;
    add_text(Turn::Role::user, text);
  }

  std::string new_id(const std::string& id) {
    auto out = first_free(cleaned(id, rules_.id, "call"), rules_.id, ids_numbered_,
                          [&](const std::string& c) { return ids_.contains(c); });
    ids_.insert(out);
    return out;
  }

  void finish_turns() {
    if (!out_.turns.empty()) drop_last_thoughts();
    auto& turns = out_.turns;
    const auto says = [](std::string_view text) {
      return Turn{Turn::Role::user, {TextPiece{std::string(text), {}}}};
    };
    if (rules_.user_first && !turns.empty() && turns.front().role != Turn::Role::user)
      turns.insert(turns.begin(), says(kOpening));
    if (turns.empty() || (rules_.user_last && turns.back().role != Turn::Role::user))
      turns.push_back(says(kContinue));
  }

  void declare_tools() {
    if (!facts_.tools) return;
    std::set<std::string, std::less<>> seen;
    for (const auto& tool : request_.tools) {
      if (!seen.insert(tool.name).second) continue;
      auto copy = tool;
      copy.name = names_.to_api(tool.name);
      copy.description = is_blank(tool.description) ? std::string() : valid(tool.description);
      if (!copy.parameters.contains("type")) copy.parameters["type"] = "object";
      out_.tools.push_back(std::move(copy));
    }
    if (out_.tools.empty()) return;
    out_.tool_choice = request_.tool_choice;
    if (out_.tool_choice.mode != ToolChoice::Mode::named) return;
    if (seen.contains(out_.tool_choice.name)) {
      out_.tool_choice.name = names_.to_api(out_.tool_choice.name);
    } else {
      out_.tool_choice = ToolChoice{};
    }
  }

  const Request& request_;
  const ModelFacts& facts_;
  const ConversationRules& rules_;
  ToolNames names_;
  Pairing pairing_;
  const bool calls_as_text_;
  std::set<std::string, std::less<>> ids_;
  std::size_t ids_numbered_ = 1;
  Conversation out_;
};

}  // namespace

const std::span<const std::string_view> kCommonImageTypes = kCommonTypes;

ToolNames::ToolNames(const ToolList& tools, const NameRule& rule) : rule_(rule) {
  std::size_t number = 1;
  const auto add = [&](const std::string& name) {
    if (to_api_.contains(name)) return;
    auto api = first_free(cleaned(name, rule_, "tool"), rule_, number,
                          [&](const std::string& c) { return from_api_.contains(c); });
    from_api_.emplace(api, name);
    to_api_.emplace(name, std::move(api));
  };
  // Names that can stay unchanged have priority.
  for (const auto& tool : tools)
    if (keeps(tool.name, rule_)) add(tool.name);
  for (const auto& tool : tools) add(tool.name);
}

std::string ToolNames::to_api(std::string_view name) const {
  const auto found = to_api_.find(name);
  return found == to_api_.end() ? cleaned(name, rule_, "tool") : found->second;
}

std::string ToolNames::from_api(std::string_view name) const {
  const auto found = from_api_.find(name);
  return std::string(found == from_api_.end() ? name : found->second);
}

bool same_model(std::string_view a, std::string_view b) {
  constexpr std::string_view kLatest = "-latest";
  for (auto* name : {&a, &b})
    if (name->ends_with(kLatest)) name->remove_suffix(kLatest.size());
  if (a.size() > b.size()) std::swap(a, b);
  if (!b.starts_with(a)) return false;
  auto date = std::string(b.substr(a.size()));
  if (date.empty()) return true;
  // The date is written -20250929 or -2025-09-29.
  if (a.empty() || date[0] != '-') return false;
  std::erase(date, '-');
  return date.size() == 8 && std::all_of(date.begin(), date.end(), is_digit);
}

Conversation prepare(const Request& request, const ModelFacts& facts,
                     const ConversationRules& rules) {
  return Preparation(request, facts, rules).run();
}

}  // namespace reef::model
