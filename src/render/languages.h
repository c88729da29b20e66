// The tokenizer's knowledge of each language: a table, a row a language.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace reef::render {

// A kind of string: how it begins and ends.
struct Quote {
  std::string_view begin;
  std::string_view end;
  bool lines = false;  // may go over several lines
  bool escape = true;  // a backslash takes the next character along
  bool twice = false;  // the end written twice is a character of it
};

struct Language {
  std::string_view names;  // separated by spaces; the first one is shown to people
  std::string_view files;  // endings and names of files, separated by spaces
  std::string_view line_comments;
  std::string_view block_begin = {}, block_end = {};
  bool nested = false;  // comments stand in comments
  std::span<const Quote> quotes = {};
  std::string_view keywords = {};
  std::string_view types = {};  // and what is built in
  bool fold_case = false;
  std::string_view word_signs = {};  // signs that are part of words, besides letters, digits and _
  char prefix = 0;                   // begins a keyword of its own: #include, @interface, $variable
  enum class Way : std::uint8_t { words, markup, diff, settings } way = Way::words;
};

std::span<const Language> languages();

}  // namespace reef::render
