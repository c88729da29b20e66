// Takes single values off a line of JSON that was checked when it was written, without making a
// tree of it: for what is read often and in bulk. Keeps inside its line and bytes whatever they
// are; what it passes over is not checked closely. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace reef::json {

// Every method takes what stands next, and says whether it was there.
class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool take(char wanted) {
    if (!next_is(wanted)) return false;
    ++at_;
    return true;
  }
  // All of these bytes, without blanks before or between them.
  bool take_all(std::string_view wanted) {
    if (left() < wanted.size() || std::memcmp(at_, wanted.data(), wanted.size()) != 0) return false;
    at_ += wanted.size();
    return true;
  }
  // And leaves it.
  bool next_is(char wanted) {
    pass_blanks();
    return at_ < end_ && *at_ == wanted;
  }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  // An object: `value(name)` must take each value. False when it did not, or where the bytes make
  // no sense.
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

  // ASCII without escapes and, so, where it lies.
  bool plain_string(std::string_view& out);
  // Behind `out`, until that has `bytes_max` bytes; the rest of the string is left then. `high` is
  // set when some of it is not ASCII: whether it is UTF-8 is not looked at.
  bool string(std::string& out, std::size_t bytes_max, bool& high);
  bool whole(std::int64_t& out);  // a number without a fraction
  bool real(double& out);
  bool truth(bool& out);
  // Any value, passed over, and where it lies.
  bool span(std::string_view& out);
  bool skip();

 private:
  void pass_blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool skip_string();
  bool escape(std::string& out);
  std::uint32_t four_digits();  // more than any code point when they are none

  const char* at_;
  const char* end_;
};

}  // namespace reef::json
