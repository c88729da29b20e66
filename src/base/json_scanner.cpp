#include "base/json_scanner.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/json.h"
#include "base/utf8.h"

namespace reef::json {
namespace {

constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
constexpr std::uint64_t kTops = 0x8080'8080'8080'8080;

constexpr std::uint64_t zeros_in(std::uint64_t word) {
  return (word - kOnes) & ~word & kTops;
}

#if defined(__SSE2__)
// Marks quotes, backslashes and control characters.
__m128i special_in(__m128i bytes) {
  const auto marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                  _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  return _mm_or_si128(marks, _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes));
}

// Collects the highest bit of each byte of `count` stretches of 16.
template <std::size_t count>
std::uint64_t bits_of(const __m128i (&stretches)[count]) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i)
    bits |= std::uint64_t(std::uint32_t(_mm_movemask_epi8(stretches[i]))) << (16 * i);
  return bits;
}

// Passes over plain bytes, `count` times 16 at once. True when it stands at one that is not plain.
template <std::size_t count>
bool pass_plain(const char*& at, const char* end, bool& high) {
  for (; end - at >= std::ptrdiff_t{16 * count}; at += 16 * count) {
    __m128i bytes[count], special[count];
    auto any_special = _mm_setzero_si128(), any = any_special;
    for (std::size_t i = 0; i < count; ++i) {
      bytes[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + i);
      special[i] = special_in(bytes[i]);
      any_special = _mm_or_si128(any_special, special[i]);
      any = _mm_or_si128(any, bytes[i]);
    }
    if (_mm_movemask_epi8(any_special) != 0) {
      const auto where = bits_of(special);
      // Only the bytes before it count.
      if ((bits_of(bytes) & ((where & (~where + 1)) - 1)) != 0) high = true;
      at += std::countr_zero(where);
      return true;
    }
    if (_mm_movemask_epi8(any) != 0) high = true;
  }
  return false;
}
#endif

// The first byte that is not simply part of a string: a quote, a backslash, a control character.
// `high` is set when a byte before it is not ASCII.
const char* plain_end(const char* at, const char* end, bool& high) {
#if defined(__SSE2__)
  // Most strings are short; the others are often long.
  if (end - at >= 16 && pass_plain<1>(at, at + 16, high)) return at;
  if (pass_plain<4>(at, end, high) || pass_plain<1>(at, end, high)) return at;
#endif
  std::uint64_t tops = 0;
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const auto special = zeros_in(word ^ kOnes * '"') | zeros_in(word ^ kOnes * '\\') |
                         ((word - kOnes * 0x20) & ~word & kTops);
    if (special == 0) {
      tops |= word & kTops;
      continue;
    }
    // Only the bytes before it count.
    tops |= word & kTops & ((special & (~special + 1)) - 1);
    high = high || tops != 0;
    return at + std::countr_zero(special) / 8;
  }
  for (; at < end && *at != '"' && *at != '\\' && static_cast<std::uint8_t>(*at) >= 0x20; ++at)
    tops |= static_cast<std::uint8_t>(*at) & 0x80U;
  high = high || tops != 0;
  return at;
}

}  // namespace

bool Scanner::plain_string(std::string_view& out) {
  if (!take('"')) return false;
  bool high = false;
  const auto* stop = plain_end(at_, end_, high);
  if (stop == end_ || *stop != '"' || high) return false;
  out = {at_, static_cast<std::size_t>(stop - at_)};
  at_ = stop + 1;
  return true;
}

bool Scanner::string(std::string& out, std::size_t bytes_max, bool& high) {
  if (!take('"')) return false;
  while (out.size() < bytes_max) {
    // Bytes beyond the limit are not looked at.
    const auto most = std::min(bytes_max - out.size(), left());
    const auto* stop = plain_end(at_, at_ + most, high);
    out.append(at_, stop);
    at_ = stop;
    if (out.size() == bytes_max) return true;
    if (at_ == end_) return false;
    if (*at_ == '"') {
      ++at_;
      return true;
    }
    if (*at_ != '\\' || !escape(out)) return false;
    if (static_cast<std::uint8_t>(out.back()) >= 0x80) high = true;
  }
  out.resize(bytes_max);
  return true;
}

bool Scanner::truth(bool& out) {
  out = next_is('t');
  return skip();
}

bool Scanner::whole(std::int64_t& out) {
  pass_blanks();
  // The usual numbers, quicker than below: a start reads some hundred thousand.
  constexpr std::ptrdiff_t kSafeDigits = 18;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto* at = at_;
  std::int64_t value = 0;
  for (const auto* stop = at + std::min(kSafeDigits, end_ - at); at < stop && is_digit(*at); ++at)
    value = value * 10 + (*at - '0');
  if (at > at_ && at < end_ && !is_digit(*at)) {
    out = value;
    at_ = at;
    return true;
  }
  const auto [end, failed] = std::from_chars(at_, end_, out);
  if (failed != std::errc()) return false;
  at_ = end;
  return true;
}

bool Scanner::real(double& out) {
  pass_blanks();
  const auto [end, failed] = std::from_chars(at_, end_, out);
  if (failed != std::errc()) return false;
  at_ = end;
  return true;
}

bool Scanner::span(std::string_view& out) {
  const auto* from = at_;
  if (!skip()) return false;
  out = {from, static_cast<std::size_t>(at_ - from)};
  return true;
}

bool Scanner::skip() {
  if (next_is('"')) return skip_string();
  if (!next_is('{') && !next_is('[')) {
    const auto* from = at_;
    while (at_ < end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ != '"' && *at_ != '\n')
      ++at_;
    return at_ > from && at_ < end_ && *at_ != '\n';
  }
  std::size_t depth = 0;
  do {
    while (at_ < end_ && *at_ != '"' && *at_ != '{' && *at_ != '}' && *at_ != '[' && *at_ != ']' &&
           *at_ != '\n')
      ++at_;
    if (at_ == end_ || *at_ == '\n') return false;
    if (*at_ == '"') {
      if (!skip_string()) return false;
      continue;
    }
    depth = *at_ == '{' || *at_ == '[' ? depth + 1 : depth - 1;
    ++at_;
    if (depth > json::kDepthMax) return false;
  } while (depth > 0);
  return true;
}

bool Scanner::skip_string() {
  ++at_;
  bool high = false;
  for (;;) {
    at_ = plain_end(at_, end_, high);
    if (at_ == end_) return false;
    if (*at_++ == '"') return true;
    if (at_[-1] != '\\' || at_ == end_) return false;
    ++at_;
  }
}

bool Scanner::escape(std::string& out) {
  if (end_ - at_ < 2) return false;
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const char name = at_[1];
  at_ += 2;
  if (name != 'u') {
    const auto which = kNames.find(name);
    if (which == std::string_view::npos) return false;
    out += kMeant[which];
    return true;
  }
  auto point = four_digits();
  if (point >= 0xD800 && point < 0xE000) {
    if (point >= 0xDC00 || end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return false;
    at_ += 2;
    const auto low = four_digits();
    if (low < 0xDC00 || low >= 0xE000) return false;
    point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  }
  if (point > 0x10FFFF) return false;
  utf8::append(out, point);
  return true;
}

std::uint32_t Scanner::four_digits() {
  if (end_ - at_ < 4) return UINT32_MAX;
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = *at_++;
    const auto digit = c >= '0' && c <= '9'   ? c - '0'
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                              : -1;
    if (digit < 0) return UINT32_MAX;
    value = value << 4 | static_cast<std::uint32_t>(digit);
  }
  return value;
}

}  // namespace reef::json
