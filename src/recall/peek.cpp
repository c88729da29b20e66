#include "recall/peek.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/json.h"
#include "base/utf8.h"

namespace reef::recall {
namespace {

constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
constexpr std::uint64_t kTops = 0x8080'8080'8080'8080;

constexpr std::uint64_t zeros_in(std::uint64_t word) {
  return (word - kOnes) & ~word & kTops;
}

// The first byte that is not simply part of a string: a quote, a backslash, a control character.
// `high` is set when a byte before it is not ASCII.
const char* plain_end(const char* at, const char* end, bool& high) {
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
    // Only those before it.
    tops |= word & kTops & ((special & (~special + 1)) - 1);
    high = high || tops != 0;
    return at + std::countr_zero(special) / 8;
  }
  for (; at < end && *at != '"' && *at != '\\' && static_cast<std::uint8_t>(*at) >= 0x20; ++at)
    tops |= static_cast<std::uint8_t>(*at) & 0x80U;
  high = high || tops != 0;
  return at;
}

// Walks JSON, keeping inside its bytes. What it passes over is not checked closely: that was done
// when the line was indexed.
class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool take(char wanted) {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  // The members of an object that begins here: `value(name)` must take each value. False when it
  // did not, or where the bytes make no sense.
  template <class F>
  bool members(F&& value) {
    if (!take('{')) return false;
    if (take('}')) return true;
    for (;;) {
      std::string_view name;
      if (!plain_string(name) || !take(':') || !value(name)) return false;
      if (take('}')) return true;
      if (!take(',')) return false;
    }
  }
  template <class F>
  bool elements(F&& value) {
    if (!take('[')) return false;
    if (take(']')) return true;
    for (;;) {
      if (!value()) return false;
      if (take(']')) return true;
      if (!take(',')) return false;
    }
  }

  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  bool next_is(char wanted) {
    if (!take(wanted)) return false;
    --at_;
    return true;
  }

  // A string without escapes and, so, where it lies.
  bool plain_string(std::string_view& out) {
    if (!take('"')) return false;
    bool high = false;
    const auto* stop = plain_end(at_, end_, high);
    if (stop == end_ || *stop != '"' || high) return false;
    out = {at_, static_cast<std::size_t>(stop - at_)};
    at_ = stop + 1;
    return true;
  }

  // Behind `out`, until that has `bytes_max` bytes; the rest of the string is left then.
  bool string(std::string& out, std::size_t bytes_max, bool& high) {
    if (!take('"')) return false;
    while (out.size() < bytes_max) {
      const auto* stop = plain_end(at_, end_, high);
      const auto count = static_cast<std::size_t>(stop - at_);
      out.append(at_, std::min(count, bytes_max - out.size()));
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

  bool truth(bool& out) {
    out = next_is('t');
    return skip();
  }

  bool skip() {
    if (next_is('"')) return skip_string();
    if (!next_is('{') && !next_is('[')) {
      const auto* from = at_;
      while (at_ < end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ != '"') ++at_;
      return at_ > from && at_ < end_;
    }
    std::size_t depth = 0;
    do {
      while (at_ < end_ && *at_ != '"' && *at_ != '{' && *at_ != '}' && *at_ != '[' && *at_ != ']')
        ++at_;
      if (at_ == end_) return false;
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

 private:
  bool skip_string() {
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

  bool escape(std::string& out) {
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
    if (point < 0x80) {
      out += static_cast<char>(point);
      return true;
    }
    const auto tail = [&](unsigned shift) {
      out += static_cast<char>(0x80 | (point >> shift & 0x3F));
    };
    if (point < 0x800) {
      out += static_cast<char>(0xC0 | point >> 6);
    } else if (point < 0x10000) {
      out += static_cast<char>(0xE0 | point >> 12);
      tail(6);
    } else {
      out += static_cast<char>(0xF0 | point >> 18);
      tail(12);
      tail(6);
    }
    tail(0);
    return true;
  }

  // More than any code point when they are none.
  std::uint32_t four_digits() {
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

  const char* at_;
  const char* end_;
};

// One line being read.
struct Reading {
  Scanner in;
  std::size_t bytes_max;  // of text that are taken
  Peek found{};
  std::string_view type{}, role{};
  bool calls = false;  // a tool
  bool high = false;   // some of the text is not ASCII
  bool enough = false;

  // A text, behind a new line when it is not the first that says something.
  bool text() {
    if (found.text.empty()) found.text.reserve(std::min(bytes_max, in.left()));
    const auto before = found.text.size();
    if (before > 0) found.text += '\n';
    const auto from = found.text.size();
    const bool read = in.string(found.text, bytes_max, high);
    if (found.text.size() == from) found.text.resize(before);
    enough = read && found.text.size() == bytes_max;
    return read && !enough;
  }
  bool block() {
    std::string_view kind;
    return in.members([&](std::string_view name) {
      if (name == "text" && in.next_is('"')) return text();
      if (name != "type") return in.skip();
      if (!in.plain_string(kind)) return false;
      calls = calls || kind == "toolCall";
      return true;
    });
  }
  bool message() {
    return in.members([&](std::string_view name) {
      if (name == "role") return in.plain_string(role);
      if (name == "toolName") return in.string(found.tool, SIZE_MAX, high);
      if (name != "content") return in.skip();
      if (in.next_is('"')) return text();
      if (!in.next_is('[')) return in.skip();
      return in.elements([&] { return in.next_is('{') ? block() : in.skip(); });
    });
  }
  bool line() {
    return in.members([&](std::string_view name) {
      if (name == "type") return in.plain_string(type);
      if (name == "id") return in.string(found.entry, SIZE_MAX, high);
      if (name == "timestamp" && in.next_is('"')) return in.string(found.time, SIZE_MAX, high);
      if (name == "hidden") return in.truth(found.hidden);
      return name == "message" && in.next_is('{') ? message() : in.skip();
    });
  }
};

}  // namespace

std::optional<Peek> peek(std::string_view line, std::size_t bytes_max) {
  Reading reading{Scanner(line), std::min(bytes_max, line.size()) + 1};
  if (!reading.line() && !reading.enough) return std::nullopt;
  auto& found = reading.found;
  const bool plain = reading.role == "user" || reading.role == "assistant" ||
                     (reading.role == "toolResult" && !found.tool.empty());
  if (reading.role == "assistant") found.role = Role::assistant;
  if (reading.role == "toolResult") found.role = Role::tool;
  if (reading.type != "message" || !plain || found.entry.empty() || found.text.empty() ||
      reading.calls)
    return std::nullopt;
  // The last character may be cut.
  const auto whole = reading.enough ? utf8::prefix(found.text, found.text.size() - 1)
                                    : std::string_view(found.text);
  if (reading.high && !(utf8::valid(whole) && utf8::valid(found.entry) && utf8::valid(found.tool) &&
                        utf8::valid(found.time)))
    return std::nullopt;
  return std::move(found);
}

}  // namespace reef::recall
