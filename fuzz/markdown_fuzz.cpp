// Words of models as every face shows them: whatever they are, in whatever pieces they come, the
// blocks are the same, every line fits, and nothing that drives a terminal is left in them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/utf8.h"
#include "render/render.h"

using namespace reef;

namespace {

void check(const render::Line& line) {
  for (const auto& span : line) {
    REEF_ASSERT(utf8::valid(span.text));
    REEF_ASSERT(std::none_of(span.text.begin(), span.text.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return (byte < 0x20 && c != '\n') || byte == 0x7F;
    }));
  }
}

void check(const std::vector<render::Block>& blocks, std::size_t width) {
  for (const auto& line : render::lay_out(blocks, width)) check(line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 16'384) return 0;
  const std::size_t piece = 1 + data[0] % 64;
  const std::size_t width = 1 + data[1];
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  render::MarkdownStream stream;
  std::vector<render::Block> blocks;
  for (std::string_view rest = text; !rest.empty();
       rest.remove_prefix(std::min(piece, rest.size()))) {
    for (auto& block : stream.take(rest.substr(0, piece))) blocks.push_back(std::move(block));
    check(stream.open(), width);
  }
  for (auto& block : stream.finish()) blocks.push_back(std::move(block));
  check(blocks, width);

  // As a change of one half into the other, and as a diff that somebody wrote.
  const auto half = text.size() / 2;
  const auto change =
      render::make_change("a.cpp", text.substr(0, half), "a.cpp", text.substr(half));
  for (const auto& line : render::lay_out(render::diff_of(change), width)) check(line);
  auto changes = render::read_changes(text);
  for (const auto& one : changes) {
    check(render::title_of(render::diff_of(one)));
    static_cast<void>(render::unified(one));
  }
  static_cast<void>(render::combine(changes));
  return 0;
}
