#include "render/stream.h"

#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace reef::render {
namespace {

// The text without the beginning of a character whose end has not come yet.
std::string_view whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return size > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

}  // namespace

std::vector<Block> MarkdownStream::take(std::string_view text) {
  std::vector<Block> out;
  for (const auto& piece : pieces_.take(text)) {
    auto blocks = parse_piece(piece, pieces_.definitions(), options_);
    out.insert(out.end(), std::make_move_iterator(blocks.begin()),
               std::make_move_iterator(blocks.end()));
  }
  return out;
}

std::vector<Block> MarkdownStream::open() const {
  return parse_piece(whole_characters(pieces_.rest()), pieces_.definitions(), options_);
}

std::vector<Block> MarkdownStream::finish() {
  auto out = parse_piece(pieces_.rest(), pieces_.definitions(), options_);
  pieces_ = Pieces();
  return out;
}

}  // namespace reef::render
