#include "session/metadata.h"

#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::session {
namespace {

constexpr std::size_t kTextBytesMax = 1024;
constexpr std::size_t kListMax = 100;

using T = MetaField::Type;

constexpr MetaField kFields[] = {
    {"name", T::text, "", "the title"},
    {"sessionStatus", T::text, "", "status id, for example todo"},
    {"labels", T::texts, "", "labels, for example code or priority::2"},
    {"isFlagged", T::flag, "", ""},
    {"isArchived", T::flag, "", ""},
    {"hasUnread", T::flag, "", ""},
    {"permissionMode", T::choice, "safe|ask|allow-all", ""},
    {"modelOverride", T::text, "", "PROVIDER/MODEL for this session"},
    {"queueMode", T::choice, "followup|steer|collect|interrupt", "of messages while a turn runs"},
    {"compactOnOverflow", T::flag, "", "when a context is too long; before the agent's rule"},
    {"thinkingLevel", T::choice, "off|minimal|low|medium|high|xhigh", ""},
    {"verboseLevel", T::choice, "off|on|full", "whether automatic compactions are told"},
    {"reasoningLevel", T::choice, "off|on|stream", "whether thoughts are told"},
    {"elevatedLevel", T::choice, "off|on|ask|full", "what senders behind a gateway may run"},
    {"workingDirectory", T::text, "", ""},
    {"chatType", T::choice, "direct|group|room|channel", ""},
    {"channel", T::text, "", "the chat provider it came through"},
    {"subject", T::text, "", "of a group"},
    {"groupChannel", T::text, "", "room"},
    {"space", T::text, "", ""},
    {"displayName", T::text, "", ""},
    {"sendPolicy", T::choice, "allow|deny", ""},
    {"policy", T::texts, "", "rules of its own, for example compact=off"},
    {"memoryFlushAt", T::number, "", "Unix milliseconds"},
    {"memoryFlushCompactionCount", T::number, "", ""},
};

const MetaField* find_field(std::string_view name) {
  for (const auto& field : kFields)
    if (field.name == name) return &field;
  return nullptr;
}

Error unknown(std::string_view name) {
  std::string known;
  for (const auto& field : kFields)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", field.name);
  return Error(Errc::invalid,
               fmt::format("unknown field '{}'; there are: {}", utf8::excerpt(name), known));
}

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const auto end = choices.find('|');
    if (choices.substr(0, end) == value) return true;
    choices = end == std::string_view::npos ? std::string_view() : choices.substr(end + 1);
  }
  return false;
}

bool is_text(const json::value& value) {
  if (!value.is_string() || value.get_string().size() > kTextBytesMax) return false;
  return std::string_view(value.get_string()).find(char{}) == std::string_view::npos;
}

Status check_value(const MetaField& field, const json::value& value) {
  const auto refuse = [&](std::string_view why) -> Status {
    return Error(Errc::invalid, fmt::format("field '{}' {}", field.name, why));
  };
  switch (field.type) {
    case T::text:
      if (!is_text(value))
        return refuse(fmt::format("must be a text of at most {} bytes without NUL", kTextBytesMax));
      break;
    case T::flag:
      if (!value.is_bool()) return refuse("must be true or false");
      break;
    case T::number:
      if (!value.is_uint64() && (!value.is_int64() || value.get_int64() < 0))
        return refuse("must be a whole number, not negative");
      break;
    case T::choice:
      if (!value.is_string() || !is_choice(field.choices, std::string_view(value.get_string())))
        return refuse(fmt::format("must be one of {}", field.choices));
      break;
    case T::texts: {
      const auto* list = value.if_array();
      if (!list || list->size() > kListMax)
        return refuse(fmt::format("must be a list of at most {} texts", kListMax));
      for (const auto& item : *list)
        if (!is_text(item) || item.get_string().empty())
          return refuse(fmt::format("must be a list of texts of 1 to {} bytes", kTextBytesMax));
      break;
    }
  }
  return Ok{};
}

}  // namespace

std::span<const MetaField> meta_fields() {
  return kFields;
}

Status check_patch(const json::object& patch) {
  if (patch.empty()) return Error(Errc::invalid, "the patch changes nothing");
  for (const auto& [name, value] : patch) {
    const auto* field = find_field(name);
    if (!field) return unknown(name);
    if (!value.is_null()) REEF_CHECK(check_value(*field, value));
  }
  return Ok{};
}

Result<json::object> patch_from_text(std::string_view name, std::string_view text) {
  const auto* field = find_field(name);
  if (!field) return unknown(name);
  json::object patch;
  auto& slot = patch[name];
  if (text.empty()) return patch;  // null: removed
  switch (field->type) {
    case T::text:
    case T::choice:
      slot = text;
      break;
    case T::flag:
      if (text == "true") slot = true;
      if (text == "false") slot = false;
      if (slot.is_null()) slot = text;
      break;
    case T::number: {
      std::int64_t number = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (failed == std::errc() && end == text.data() + text.size()) {
        slot = number;
      } else {
        slot = text;
      }
      break;
    }
    case T::texts: {
      json::array list;
      while (!text.empty()) {
        const auto end = text.find(',');
        list.emplace_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      }
      slot = std::move(list);
      break;
    }
  }
  REEF_CHECK(check_patch(patch));
  return patch;
}

}  // namespace reef::session
