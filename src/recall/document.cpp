#include "recall/document.h"

#include <algorithm>
#include <cctype>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/overload.h"
#include "base/utf8.h"

namespace reef::recall {
namespace {

// The facets: the role, a bit for calls, a bit for guests, and the speaker.
constexpr unsigned kRoleBits = 3;
constexpr unsigned kGuestBit = 4;
constexpr unsigned kSpeakerShift = 5;
// Takes the place of the speaker in tool results, which have none.
constexpr std::uint32_t kEcho = 1;
// Tools that look up words said elsewhere.
constexpr std::string_view kLookUps[] = {"search_sessions", "list_messages", "recall"};
constexpr std::size_t kSpeakerBytesMax = 32;

constexpr std::string_view kRoles[] = {"", "user", "assistant", "tool", "summary", "title"};

void add(Said& said, Field field, std::string_view text) {
  if (text.empty()) return;
  if (!said.parts.empty() && said.parts.back().field == field) {
    said.parts.back().text += '\n';
    said.parts.back().text += text;
  } else {
    said.parts.push_back(Said::Part{field, std::string(text)});
  }
}

void add_values(Said& said, const json::value& value) {
  if (const auto* text = value.if_string()) {
    add(said, Field::tool, *text);
  } else if (const auto* object = value.if_object()) {
    for (const auto& [name, member] : *object) add_values(said, member);
  } else if (const auto* array = value.if_array()) {
    for (const auto& member : *array) add_values(said, member);
  } else if (!value.is_null() && !value.is_bool()) {
    add(said, Field::tool, json::write(value));
  }
}

void add_text(Said& said, Field field, const std::vector<session::Block>& blocks) {
  for (const auto& block : blocks)
    if (const auto* text = std::get_if<session::TextBlock>(&block)) add(said, field, text->text);
}

Said said_by(const session::AssistantMessage& message) {
  Said said;
  said.role = Role::assistant;
  add_text(said, Field::assistant, message.content);
  const bool spoke = !said.parts.empty();
  for (const auto& block : message.content) {
    const auto* call = std::get_if<session::ToolCallBlock>(&block);
    if (!call) continue;
    if (said.tool.empty()) said.tool = call->name;
    add(said, Field::tool, call->name);
    add_values(said, call->arguments);
  }
  if (!spoke && !said.tool.empty()) said.role = Role::tool;
  return said;
}

Said said_in_message(const session::Message& message) {
  return std::visit(Overload{
                        [](const session::UserMessage& m) {
                          Said said;
                          add_text(said, Field::user, m.content);
                          return said;
                        },
                        [](const session::AssistantMessage& m) { return said_by(m); },
                        [](const session::ToolResultMessage& m) {
                          Said said;
                          said.role = Role::tool;
                          said.tool = m.tool_name;
                          add_text(said, Field::tool, m.content);
                          return said;
                        },
                        [](const session::BashMessage& m) {
                          Said said;
                          said.role = Role::tool;
                          said.tool = "bash";
                          add(said, Field::tool, m.command);
                          add(said, Field::tool, m.output);
                          return said;
                        },
                        [](const session::CustomMessage& m) {
                          Said said;
                          add_text(said, Field::user, m.content);
                          return said;
                        },
                        [](const session::SummaryMessage& m) {
                          Said said;
                          said.role = Role::summary;
                          add(said, Field::summary, m.summary);
                          return said;
                        },
                        [](const session::OtherMessage& m) {
                          Said said;
                          add_text(said, Field::user, session::content_from_json(m.raw));
                          return said;
                        },
                    },
                    message);
}

Said one_part(Role role, Field field, std::string_view text) {
  Said said;
  said.role = role;
  add(said, field, text);
  return said;
}

}  // namespace

std::string_view name_of(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}

std::optional<Role> role_from(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kRoles); ++i)
    if (kRoles[i] == name) return static_cast<Role>(i);
  return std::nullopt;
}

std::string Said::text() const {
  std::string out;
  for (const auto& part : parts) {
    if (!out.empty()) out += '\n';
    out += part.text;
  }
  return out;
}

std::optional<Said> said_in(const session::Entry& entry) {
  if (session::is_hidden(entry)) return std::nullopt;
  Said said;
  if (entry.type == "message") {
    const auto* message = json::find_object(entry.body, "message");
    if (!message) return std::nullopt;
    said = said_in_message(session::message_from_json(*message));
    if (said.role == Role::assistant)
      said.agent = std::string(json::find_string(entry.body, "agent").value_or(""));
  } else if (entry.type == "compaction" || entry.type == "branch_summary") {
    said = one_part(Role::summary, Field::summary,
                    json::find_string(entry.body, "summary").value_or(""));
  } else if (entry.type == "session_info") {
    said = one_part(Role::title, Field::title, json::find_string(entry.body, "name").value_or(""));
    // An emptied title removes the one before it.
    return said;
  } else if (entry.type == "custom_message" && json::find_bool(entry.body, "display") != false) {
    // Hidden text, such as a skill's, was not said by anybody.
    add_text(said, Field::user, session::content_from_json(entry.body));
  }
  if (said.parts.empty()) return std::nullopt;
  return said;
}

std::uint32_t speaker_number(std::string_view name) {
  const auto folded = utf8::lower_ascii(name);
  const auto hash =
      static_cast<std::uint32_t>(XXH3_64bits(folded.data(), folded.size())) >> kSpeakerShift;
  return std::max(hash, kEcho + 1);
}

std::uint32_t speaker_of(std::string_view text) {
  const auto colon = text.substr(0, kSpeakerBytesMax).find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size() ||
      text[colon + 1] != ' ')
    return 0;
  const auto name = text.substr(0, colon);
  const auto first = static_cast<unsigned char>(name[0]);
  if (first < 0x80 && std::isupper(first) == 0) return 0;
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c)) == 0)
      return 0;
  return speaker_number(name);
}

std::uint32_t facets_of(const Said& said, std::uint32_t speaker) {
  const bool calls = said.role == Role::assistant && !said.tool.empty();
  if (said.role == Role::tool &&
      std::find(std::begin(kLookUps), std::end(kLookUps), said.tool) != std::end(kLookUps))
    speaker = kEcho;
  return speaker << kSpeakerShift | (said.agent.empty() ? 0U : 1U << kGuestBit) |
         (calls ? 1U << kRoleBits : 0U) | static_cast<std::uint32_t>(said.role);
}
bool calls_in(std::uint32_t facets) {
  return (facets >> kRoleBits & 1U) != 0;
}
bool guest_in(std::uint32_t facets) {
  return (facets >> kGuestBit & 1U) != 0;
}
Role role_in(std::uint32_t facets) {
  return static_cast<Role>(facets & ((1U << kRoleBits) - 1));
}
bool echoes(std::uint32_t facets) {
  return role_in(facets) == Role::tool && speaker_in(facets) == kEcho;
}
std::uint32_t speaker_in(std::uint32_t facets) {
  return facets >> kSpeakerShift;
}

}  // namespace reef::recall
