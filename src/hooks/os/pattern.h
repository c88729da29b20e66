// Patterns for paths: *, ?, [a-z], {a,b} and **, in linear time whatever they are. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace reef::hooks::os {

inline constexpr std::size_t kPatternBytesMax = 1024;

class Pattern {
 public:
  // `*` and `?` stay within one part of a path, `**` does not. Errors say what is wrong.
  static Result<Pattern> compile(std::string_view glob);

  // Of a path relative to where the search began: "src/main.cpp".
  bool matches(std::string_view path) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const re2::RE2> compiled_;
};

// A regular expression of the model's. invalid says why it is none.
Result<std::shared_ptr<const re2::RE2>> compile_expression(std::string_view text, bool ignore_case);

}  // namespace reef::hooks::os
