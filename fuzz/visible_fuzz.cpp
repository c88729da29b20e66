// Text made visible: for any input, in any pieces, the output must be valid and free of characters
// that control a terminal or reorder text, and making it visible again must change nothing.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/utf8.h"
#include "base/visible.h"

using namespace reef;

namespace {

void check(std::string_view shown) {
  REEF_ASSERT(utf8::valid(shown));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(shown[i]);
    REEF_ASSERT(byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7F));
    const auto rest = shown.substr(i);
    REEF_ASSERT(byte != 0xC2 || static_cast<std::uint8_t>(shown[i + 1]) >= 0xA0);
    REEF_ASSERT(!rest.starts_with("\xE2\x80\x8E") && !rest.starts_with("\xE2\x80\x8F"));
    REEF_ASSERT(!rest.starts_with("\xE2\x80\xAE") && !rest.starts_with("\xE2\x81\xA6"));
    REEF_ASSERT(!rest.starts_with("\xE2\x80\xA8") && !rest.starts_with("\xE2\x80\x8B"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto shown = utf8::visible(text);
  check(shown);
  REEF_ASSERT(utf8::visible(shown) == shown);
  // Takes the text in pieces, of a size that the input chooses.
  const std::size_t step = 1 + data[0] % 7;
  utf8::VisibleText pieces;
  std::string said;
  for (std::size_t at = 0; at < text.size(); at += step) said += pieces.take(text.substr(at, step));
  check(said + pieces.end());
  // Escaping for JSON a second time must change nothing.
  const auto escaped = utf8::escape_unseen(shown);
  REEF_ASSERT(utf8::escape_unseen(escaped) == escaped);
  return 0;
}
