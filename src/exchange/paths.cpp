#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/exchange.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kPathBytesMax = 2048;
constexpr std::size_t kPathNameBytesMax = 255;
constexpr std::size_t kSlugBytesMax = 48;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

Status check_path(std::string_view path) {
  const auto bad = [&](std::string_view why) {
    return Error(Errc::invalid, fmt::format("'{}' {}", utf8::excerpt(path), why));
  };
  if (path.empty()) return Error(Errc::invalid, "a file without a name");
  if (path.size() > kPathBytesMax) return bad("is too long for a path");
  for (const char c : path)
    if (is_control(c)) return bad("has control characters");
  for (;;) {
    const auto slash = path.find('/');
    const auto name = path.substr(0, slash);
    if (name.empty() || name == "." || name == "..") return bad("is not a path inside a folder");
    if (name.size() > kPathNameBytesMax) return bad("has a name that is too long");
    if (slash == std::string_view::npos) return Ok{};
    path.remove_prefix(slash + 1);
  }
}

std::string slug(std::string_view title) {
  std::string out;
  for (const char c : utf8::lower_ascii(title)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain && out.size() >= kSlugBytesMax) break;
    if (plain) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != '-') {
      out.push_back('-');
    }
  }
  while (out.ends_with('-')) out.pop_back();
  return out;
}

}  // namespace reef::exchange
