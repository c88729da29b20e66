// Patterns for paths: *, ?, [a-z], {a,b} and **. All match in linear time. Any thread.
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
  // `*` and `?` stay within one part of a path; `**` may cross parts. Errors say what is wrong.
  static Result<Pattern> compile(std::string_view glob);

  // `path` is relative to where the search began: "src/main.cpp".
  bool matches(std::string_view path) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const re2::RE2> compiled_;
};

// Compiles a regular expression of the model's; invalid says what is wrong with it.
Result<std::shared_ptr<const re2::RE2>> compile_expression(std::string_view text, bool ignore_case);

}  // namespace reef::hooks::os
