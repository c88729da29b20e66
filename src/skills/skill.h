// One SKILL.md: its fields, their rules and limits. Reading is lenient: a usable skill that breaks
// a rule is accepted with a warning. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace reef::skills {

inline constexpr std::size_t kNameCharsMax = 64;
inline constexpr std::size_t kDescriptionCharsMax = 1024;
inline constexpr std::size_t kCompatibilityCharsMax = 500;
inline constexpr std::size_t kFileBytesMax = 1U << 20;  // for a SKILL.md

struct Skill {
  std::string name;
  std::string description;  // one line
  std::string license;
  std::string compatibility;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> allowed_tools;  // empty allows all
  std::string body;
  std::vector<std::string> warnings;  // the rules it breaks
};

// The strict rule: lower-case letters and digits of any script, with single hyphens between them.
bool is_skill_name(std::string_view name);
// The lenient rule: no spaces, control characters, slashes or markup.
bool is_usable_name(std::string_view name);

// `folder` is the name of the folder that holds the file. Fails only when the skill has no
// description or cannot be understood.
Result<Skill> parse_skill(std::string_view text, std::string_view folder);

}  // namespace reef::skills
