// Markdown while it is still being written: finished blocks once, only the open end again.
#pragma once

#include <string_view>
#include <vector>

#include "render/pieces.h"

namespace reef::render {

class MarkdownStream {
 public:
  explicit MarkdownStream(MarkdownOptions options = {}) : options_(options) {}

  // Takes more text, cut anywhere, also within a character. Returns the blocks it finished: they
  // never change again.
  std::vector<Block> take(std::string_view text);
  // The end that is open, as it would be if nothing came any more.
  std::vector<Block> open() const;
  // The same, once nothing comes any more; the stream is as new then.
  std::vector<Block> finish();

 private:
  MarkdownOptions options_;
  Pieces pieces_;
};

}  // namespace reef::render
