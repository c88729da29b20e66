// Cuts Markdown where one top-level block ends and another begins, as it comes: so that what is
// finished is parsed once, and only the open end again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/markdown.h"

namespace reef::render {

class Pieces {
 public:
  // Takes more text, cut anywhere; returns the pieces that it finished. Each parsed by itself gives
  // the blocks that all of the text would.
  std::vector<std::string> take(std::string_view text);
  // The part that is not finished yet.
  const std::string& rest() const { return open_; }
  // Definitions of links ("[1]: https://...") in what came so far; they count in every piece.
  const std::string& definitions() const { return definitions_; }

 private:
  // Looks at one whole line at the end of open_.
  void line(std::string_view line, std::vector<std::string>& done);
  bool in_code(std::string_view text, std::size_t indent);
  void cut(std::string_view line, std::vector<std::string>& done);

  std::string open_;
  std::string definitions_;
  std::size_t looked_ = 0;  // bytes of open_ whose lines were looked at
  // How far the words of each item are indented, of the lists that are open, the outermost first.
  std::vector<std::size_t> items_;
  bool blank_ = false;      // the last line was blank, or the next one begins a block all the same
  bool paragraph_ = false;  // the last line is of a paragraph, which the next may go on with
  bool defines_ = false;    // the last line defined a link
  char fence_ = 0;          // of the code that is open
  std::size_t fence_size_ = 0;
  std::size_t fence_item_ = 0;  // the indentation of the item the code stands in
};

// The blocks of a piece.
std::vector<Block> parse_piece(std::string_view piece, std::string_view definitions,
                               const MarkdownOptions& options);

}  // namespace reef::render
