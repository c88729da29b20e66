// Takes single values off a line of JSON that was checked when it was written, without making a
// tree of it: for frequent reading in bulk. It never leaves the line, whatever the bytes are;
// values that it passes over are not checked closely. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace reef::json {

// Each method takes what stands next, and says whether it was there.
class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool take(char wanted) {
    if (!next_is(wanted)) return false;
    ++at_;
    return true;
  }
  // Takes exactly these bytes, without blanks before or between them.
  bool take_all(std::string_view wanted) {
    if (left() < wanted.size() || std::memcmp(at_, wanted.data(), wanted.size()) != 0) return false;
    at_ += wanted.size();
    return true;
  }
  // Only looks, without taking it.
  bool next_is(char wanted) {
    pass_blanks();
    return at_ < end_ && *at_ == wanted;
  }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  // Takes an object, whose values `value(name)` must take. False when it did not, or when the bytes
  // make no sense.
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

  // ASCII without escapes, so that `out` can point to where it lies.
  bool plain_string(std::string_view& out);
  // Appends to `out` until it has `bytes_max` bytes, and then leaves the rest of the string. `high`
  // is set when some of it is not ASCII; whether it is UTF-8 is not checked.
  bool string(std::string& out, std::size_t bytes_max, bool& high);
  bool whole(std::int64_t& out);  // a number without a fraction
  bool real(double& out);
  bool truth(bool& out);
  // Passes over any value and tells where it lies.
  bool span(std::string_view& out);
  bool skip();

 private:
  void pass_blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool skip_string();
  bool escape(std::string& out);
  std::uint32_t four_digits();  // more than any code point when they are no digits

  const char* at_;
  const char* end_;
};

}  // namespace reef::json
