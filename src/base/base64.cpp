#include "base/base64.h"

#include <array>
#include <cstdint>

namespace reef {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto kValues = [] {
  std::array<std::int8_t, 256> out{};
  for (auto& value : out) value = -1;
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    out[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  return out;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto left = bytes.size() - i;
    const auto byte = [&](std::size_t k) {
      return k < left ? std::uint32_t{static_cast<unsigned char>(bytes[i + k])} : 0U;
    };
    const auto bits = byte(0) << 16U | byte(1) << 8U | byte(2);
    out.push_back(kDigits[bits >> 18U]);
    out.push_back(kDigits[bits >> 12U & 63U]);
    out.push_back(left > 1 ? kDigits[bits >> 6U & 63U] : '=');
    out.push_back(left > 2 ? kDigits[bits & 63U] : '=');
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto value = kValues[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    if (i % 4 != 3) continue;
    out.push_back(static_cast<char>(bits >> 16U));
    out.push_back(static_cast<char>(bits >> 8U));
    out.push_back(static_cast<char>(bits));
    bits = 0;
  }
  if (padding == 1) {
    out.push_back(static_cast<char>(bits >> 10U));
    out.push_back(static_cast<char>(bits >> 2U));
  } else if (padding == 2) {
    out.push_back(static_cast<char>(bits >> 4U));
  }
  return out;
}

}  // namespace reef
