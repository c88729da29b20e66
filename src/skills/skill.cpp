#include "skills/skill.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "skills/allowed_tools.h"
#include "skills/front_matter.h"

namespace reef::skills {
namespace {

constexpr std::size_t kNameBytesMax = 200;

std::size_t chars_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

// Normalises, so that two spellings of one name compare equal.
std::string nfkc(const std::string& text) {
  utf8proc_uint8_t* normal = nullptr;
  const auto size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &normal,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT));
  if (size < 0) return text;
  std::string out(reinterpret_cast<const char*>(normal), static_cast<std::size_t>(size));
  std::free(normal);
  return out;
}

bool is_small_letter_or_digit(utf8proc_int32_t point) {
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_ND:
      return true;
    default:
      return false;
  }
}

class Fields {
 public:
  Fields(const FrontMatter& head, std::vector<std::string>& warnings)
      : head_(head), warnings_(warnings) {}

  // Returns the text of a field; warns about a field of another kind and ignores it.
  std::string text(std::string_view name) {
    known_.push_back(name);
    const auto* field = head_.find(name);
    if (!field) return {};
    if (field->kind == Field::Kind::text) return field->text;
    warn(*field, "must be a text; it is left out");
    return {};
  }

  const Field* any(std::string_view name) {
    known_.push_back(name);
    return head_.find(name);
  }

  void warn(const Field& field, std::string_view why) {
    warnings_.push_back(
        fmt::format("line {}: '{}' {}", field.line, utf8::excerpt(field.name), why));
  }

  void warn_of_unknown() {
    for (const auto& field : head_.fields)
      if (std::find(known_.begin(), known_.end(), field.name) == known_.end())
        warn(field, "is no field of a skill; it is ignored");
  }

 private:
  const FrontMatter& head_;
  std::vector<std::string>& warnings_;
  std::vector<std::string_view> known_;
};

Result<std::string> name_from(const std::string& written, std::string_view folder,
                              std::vector<std::string>& warnings) {
  const auto name = nfkc(written);
  const auto folders = nfkc(utf8::sanitize(folder));
  if (!is_usable_name(name)) {
    warnings.push_back(name.empty() ? "'name' is missing; the folder's name is taken"
                                    : "'name' cannot be called by; the folder's name is taken");
    if (is_usable_name(folders)) return folders;
    return Error(Errc::invalid, "it has no name it could be called by");
  }
  if (chars_in(name) > kNameCharsMax)
    warnings.push_back(fmt::format("'name' has more than {} characters", kNameCharsMax));
  if (!is_skill_name(name))
    warnings.push_back("'name' must be lower-case letters, digits and single hyphens between them");
  if (name != folders)
    warnings.push_back(fmt::format("'name' is '{}', and its folder is called '{}'",
                                   utf8::excerpt(name), utf8::excerpt(folders)));
  return name;
}

std::vector<std::pair<std::string, std::string>> metadata_from(Fields& fields) {
  const auto* field = fields.any("metadata");
  if (!field) return {};
  if (field->kind == Field::Kind::pairs) return field->pairs;
  if (field->kind != Field::Kind::text || !field->text.empty())
    fields.warn(*field, "must be pairs of texts; it is left out");
  return {};
}

std::vector<std::string> allowed_tools_from(Fields& fields) {
  const auto* field = fields.any("allowed-tools");
  if (!field) return {};
  std::vector<std::string> out;
  if (field->kind == Field::Kind::pairs) {
    // Ignoring a field that was meant to restrict would allow everything.
    fields.warn(*field, "must be names of tools; no tool but 'skill' is allowed");
    return {"skill"};
  }
  if (field->kind == Field::Kind::list)
    for (const auto& item : field->items)
      for (auto& name : split_allowed(item)) out.push_back(std::move(name));
  if (field->kind == Field::Kind::text) out = split_allowed(field->text);
  for (const auto& item : out)
    if (const auto bad = problem_of(item); !bad.empty())
      fields.warn(*field, fmt::format("has '{}': {}", utf8::excerpt(item), bad));
  return out;
}

}  // namespace

bool is_skill_name(std::string_view name) {
  if (name.empty() || chars_in(name) > kNameCharsMax || !utf8::valid(name)) return false;
  if (name.front() == '-' || name.back() == '-' || name.find("--") != std::string_view::npos)
    return false;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(name.data());
  auto left = static_cast<utf8proc_ssize_t>(name.size());
  while (left > 0) {
    utf8proc_int32_t point = 0;
    const auto used = utf8proc_iterate(at, left, &point);
    if (used <= 0 || (point != '-' && !is_small_letter_or_digit(point))) return false;
    at += used;
    left -= used;
  }
  return true;
}

bool is_usable_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || name.front() == '.' || !utf8::valid(name))
    return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
           std::string_view("/\\<>\"&").find(c) != std::string_view::npos;
  });
}

Result<Skill> parse_skill(std::string_view text, std::string_view folder) {
  if (text.size() > kFileBytesMax)
    return Error(Errc::too_large, fmt::format("has more than {} KiB", kFileBytesMax >> 10));
  Skill skill;
  std::string clean;
  if (!utf8::valid(text) || text.find('\0') != std::string_view::npos) {
    clean = utf8::sanitize(text);
    std::erase(clean, '\0');
    text = clean;
    skill.warnings.push_back("is not UTF-8 throughout; the bad bytes are replaced");
  }
  REEF_TRY(auto head, read_front_matter(text));
  skill.warnings.insert(skill.warnings.end(), head.warnings.begin(), head.warnings.end());
  Fields fields(head, skill.warnings);
  const auto written = fields.text("name");
  skill.description = utf8::single_line(utf8::printable(fields.text("description")));
  if (skill.description.empty()) return Error(Errc::invalid, "'description' is missing");
  REEF_TRY(skill.name, name_from(written, folder, skill.warnings));
  skill.license = fields.text("license");
  skill.compatibility = fields.text("compatibility");
  skill.metadata = metadata_from(fields);
  skill.allowed_tools = allowed_tools_from(fields);
  fields.warn_of_unknown();
  const auto check_length = [&](std::string_view name, const std::string& value, std::size_t max) {
    if (chars_in(value) > max)
      skill.warnings.push_back(fmt::format("'{}' has more than {} characters", name, max));
  };
  check_length("description", skill.description, kDescriptionCharsMax);
  check_length("compatibility", skill.compatibility, kCompatibilityCharsMax);
  const auto* compatibility = head.find("compatibility");
  if (compatibility && compatibility->kind == Field::Kind::text && skill.compatibility.empty())
    skill.warnings.push_back("'compatibility' is empty");
  const auto begin = head.body.find_first_not_of("\r\n");
  skill.body = begin == std::string::npos ? std::string() : head.body.substr(begin);
  return skill;
}

}  // namespace reef::skills
