// Markdown as blocks of styled spans: what every face draws. GitHub's kind: tables, task lists,
// struck words, plain addresses as links. No tags: what looks like HTML is text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "render/text.h"

namespace reef::render {

struct Block {
  enum class Kind : std::uint8_t { paragraph, heading, code, quote, list, item, table, rule };
  enum class Task : std::uint8_t { none, open, done };
  enum class Align : std::uint8_t { left, center, right };

  Kind kind = Kind::paragraph;
  unsigned level = 0;  // of a heading, 1 to 6
  Line words = {};     // of a paragraph, a heading; a newline in a span is a break that was meant
  std::string language = {};  // of a code, as it was written behind the fence
  std::string code = {};      // with its newlines, the last one too
  bool ordered = false;       // of a list
  unsigned start = 1;
  bool tight = true;
  Task task = Task::none;                    // of an item
  std::vector<Block> inner = {};             // of a quote, a list (items), an item
  std::vector<Align> columns = {};           // of a table
  std::vector<std::vector<Line>> rows = {};  // the first one is its head

  bool operator==(const Block&) const = default;
};

// What a newline within a paragraph is: a space, as Markdown says, or a break, as people who type
// into a chat mean it.
enum class Breaks : std::uint8_t { soft, hard };

struct MarkdownOptions {
  Breaks breaks = Breaks::soft;
};

// Text that would grow without measure, or is larger than half a megabyte, comes as one code block
// without a language.
std::vector<Block> parse_markdown(std::string_view text, const MarkdownOptions& options = {});

}  // namespace reef::render
