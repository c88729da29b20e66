// Reads the head of a SKILL.md between two lines of dashes, in the part of YAML that people use
// there: texts (plain, quoted, folded, literal), lists and one level of pairs. Invalid YAML that a
// reader would still understand is accepted with a warning. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace reef::skills {

struct Field {
  enum class Kind : std::uint8_t { text, list, pairs };

  std::string name;
  std::size_t line = 0;  // in the file, counted from 1
  Kind kind = Kind::text;
  std::string text = {};
  std::vector<std::string> items = {};
  std::vector<std::pair<std::string, std::string>> pairs = {};
};

struct FrontMatter {
  std::vector<Field> fields;  // each name occurs once
  std::string body;           // the text after the head
  std::vector<std::string> warnings;

  const Field* find(std::string_view name) const;
};

// `text` must be valid UTF-8. The error names the line that cannot be understood.
Result<FrontMatter> read_front_matter(std::string_view text);

}  // namespace reef::skills
