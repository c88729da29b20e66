// One SKILL.md: its fields, their rules and limits. Reading is lenient: what breaks a rule and can
// still be used is used, with a warning. Pure functions.
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
inline constexpr std::size_t kFileBytesMax = 1U << 20;  // of a SKILL.md

struct Skill {
  std::string name;
  std::string description;  // one line
  std::string license;
  std::string compatibility;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> allowed_tools;  // empty: all
  std::string body;
  std::vector<std::string> warnings;  // what breaks a rule
};

// By the letter: lower-case letters and digits of any script, single hyphens between them.
bool is_skill_name(std::string_view name);
// Good enough to be called by: no spaces, control characters, slashes or anything of markup.
bool is_usable_name(std::string_view name);

// `folder` is the name of the folder it lies in. Only what has no description, or cannot be
// understood, is refused.
Result<Skill> parse_skill(std::string_view text, std::string_view folder);

}  // namespace reef::skills
