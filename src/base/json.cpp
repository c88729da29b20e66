#include "base/json.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "base/assert.h"
#include "base/utf8.h"

namespace reef::json {
namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The value of a \uXXXX escape at `at`, or nullopt.
std::optional<unsigned> escape_at(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned code = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    if (!is_hex(text[i])) return std::nullopt;
    const char c = text[i];
    const unsigned digit = c <= '9' ? unsigned(c - '0') : (unsigned(c) | 0x20U) - 'a' + 10U;
    code = code * 16 + digit;
  }
  return code;
}

// Replaces escapes that name half of a surrogate pair.
std::string mend_surrogates(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      ++i;
      continue;
    }
    const auto code = escape_at(text, i);
    if (!code) {
      i += 2;  // another escape, or a backslash at the end
      continue;
    }
    const bool high = *code >= 0xD800 && *code <= 0xDBFF;
    const bool low = *code >= 0xDC00 && *code <= 0xDFFF;
    if (high) {
      const auto next = escape_at(text, i + 6);
      if (next && *next >= 0xDC00 && *next <= 0xDFFF) {
        i += 12;
        continue;
      }
    }
    if (high || low) text.replace(i, 6, "\\ufffd");
    i += 6;
  }
  return text;
}

// Builds values as Boost's own handler does, but reads fractions to the last bit: Boost's parser is
// quick and a little off, and a transcript must say the same after it was copied.
struct Handler {
  using error_code = boost::json::error_code;
  using view = boost::json::string_view;
  static constexpr std::size_t max_object_size = object::max_size();
  static constexpr std::size_t max_array_size = array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();

  explicit Handler(boost::json::storage_ptr storage) { stack.reset(std::move(storage)); }

  boost::json::value_stack stack;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t n, error_code&) { return stack.push_object(n), true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code&) { return stack.push_array(n), true; }
  bool on_key_part(view s, std::size_t, error_code&) { return stack.push_chars(s), true; }
  bool on_key(view s, std::size_t, error_code&) { return stack.push_key(s), true; }
  bool on_string_part(view s, std::size_t, error_code&) { return stack.push_chars(s), true; }
  bool on_string(view s, std::size_t, error_code&) { return stack.push_string(s), true; }
  bool on_number_part(view, error_code&) { return whole_number = false, true; }
  bool on_int64(std::int64_t i, view, error_code&) { return stack.push_int64(i), true; }
  bool on_uint64(std::uint64_t u, view, error_code&) { return stack.push_uint64(u), true; }
  bool on_double(double about, view s, error_code&) {
    double exact = about;
    // The text comes in one piece unless it is the very end of the input.
    if (std::exchange(whole_number, true)) {
      double parsed = 0;
      const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), parsed);
      if (failed == std::errc() && end == s.data() + s.size()) exact = parsed;
    }
    stack.push_double(exact);
    return true;
  }
  bool on_bool(bool b, error_code&) { return stack.push_bool(b), true; }
  bool on_null(error_code&) { return stack.push_null(), true; }
  bool on_comment_part(view, error_code&) { return true; }
  bool on_comment(view, error_code&) { return true; }

  bool whole_number = true;
};

// How a string escapes each byte: 0 where it needs none, 'u' where only its number can be written.
constexpr auto kEscapes = [] {
  std::array<char, 256> out = {};
  for (int c = 0; c < 0x20; ++c) out[static_cast<std::size_t>(c)] = 'u';
  out['\b'] = 'b';
  out['\f'] = 'f';
  out['\n'] = 'n';
  out['\r'] = 'r';
  out['\t'] = 't';
  out['"'] = '"';
  out['\\'] = '\\';
  return out;
}();

// Sets the high bit of each of eight bytes that a string must escape. A borrow can set a wrong one
// only behind the first right one, and only the first counts.
std::uint64_t special_in(std::uint64_t eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  const auto zero_in = [](std::uint64_t x) { return (x - kOnes) & ~x & kHigh; };
  return ((eight - 0x20 * kOnes) & ~eight & kHigh) | zero_in(eight ^ ('"' * kOnes)) |
         zero_in(eight ^ ('\\' * kOnes));
}

// Boost's serializer goes a byte at a time; this copies eight and keeps those before the first that
// needs an escape.
void append_string(std::string& out, std::string_view text) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::size_t kFlushBytes = 1024;
  std::array<char, kFlushBytes + 16> held;
  std::size_t count = 0;
  held[count++] = '"';
  for (std::size_t at = 0; at < text.size();) {
    if (count > kFlushBytes) out.append(held.data(), std::exchange(count, 0));
    std::uint64_t eight = 0;
    auto taken = sizeof eight;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
    } else {
      taken = text.size() - at;
      std::memcpy(&eight, text.data() + at, taken);
    }
    std::memcpy(held.data() + count, &eight, sizeof eight);
    const auto marked = special_in(eight);
    const auto plain = marked == 0 ? taken : static_cast<std::size_t>(std::countr_zero(marked)) / 8;
    if (plain >= taken) {  // the marks may be behind the text
      count += taken;
      at += taken;
      continue;
    }
    count += plain;
    const auto byte = static_cast<unsigned char>(text[at + plain]);
    at += plain + 1;
    held[count++] = '\\';
    held[count++] = kEscapes[byte];
    if (kEscapes[byte] != 'u') continue;
    for (const char digit : {'0', '0', kHex[byte >> 4U], kHex[byte & 15U]}) held[count++] = digit;
  }
  held[count++] = '"';
  out.append(held.data(), count);
}

void append_number(std::string& out, auto number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

// Writes the shortest number that reads back as the same, and as a fraction.
void append_fraction(std::string& out, double number) {
  if (!std::isfinite(number)) {
    // JSON has no words for these; a number that is too large is read as infinite again.
    out += std::isnan(number) ? "null" : number > 0 ? "1e99999" : "-1e99999";
    return;
  }
  std::array<char, 32> digits;
  const auto [end, failed] = std::to_chars(digits.begin(), digits.end(), number);
  REEF_ASSERT(failed == std::errc());
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += text;
  if (text.find_first_of(".eE") == std::string_view::npos) out += ".0";
}

}  // namespace

Result<value> parse(std::string_view text, boost::json::storage_ptr storage) {
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::json::basic_parser<Handler> parser(options, std::move(storage));
  boost::json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (error)
    return Error(Errc::invalid, fmt::format("not JSON at byte {}: {}", used, error.message()));
  for (std::size_t i = used; i < text.size(); ++i)
    if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
      return Error(Errc::invalid, fmt::format("not JSON at byte {}: text after the value", i));
  return parser.handler().stack.release();
}

Result<value> parse_lenient(std::string_view text) {
  auto strict = parse(text);
  if (strict) return strict;
  auto mended = parse(mend_surrogates(utf8::sanitize(text)));
  // The first error is about the text as it stands.
  if (!mended) return strict;
  return mended;
}

std::string write(const value& v) {
  std::string out;
  append(out, v);
  return out;
}

std::string write(const object& v) {
  std::string out;
  append(out, v);
  return out;
}

void append(std::string& out, const object& v) {
  char before = '{';
  for (const auto& [key, member] : v) {
    out.push_back(std::exchange(before, ','));
    append_string(out, key);
    out.push_back(':');
    append(out, member);
  }
  out += v.empty() ? "{}" : "}";
}

void append(std::string& out, const value& v) {
  switch (v.kind()) {
    case boost::json::kind::null:
      out += "null";
      break;
    case boost::json::kind::bool_:
      out += v.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::int64:
      append_number(out, v.get_int64());
      break;
    case boost::json::kind::uint64:
      append_number(out, v.get_uint64());
      break;
    case boost::json::kind::double_:
      append_fraction(out, v.get_double());
      break;
    case boost::json::kind::string:
      append_string(out, v.get_string());
      break;
    case boost::json::kind::array: {
      char before = '[';
      for (const auto& item : v.get_array()) {
        out.push_back(std::exchange(before, ','));
        append(out, item);
      }
      out += v.get_array().empty() ? "[]" : "]";
      break;
    }
    case boost::json::kind::object:
      append(out, v.get_object());
      break;
  }
}

void ObjectText::start(std::string_view name) {
  if (out_.back() != '{') out_.push_back(',');
  append_string(out_, name);
  out_.push_back(':');
}

void ObjectText::text(std::string_view name, std::string_view text) {
  start(name);
  append_string(out_, text);
}

void ObjectText::flag(std::string_view name, bool flag) {
  start(name);
  out_ += flag ? "true" : "false";
}

void ObjectText::number(std::string_view name, std::int64_t number) {
  start(name);
  append_number(out_, number);
}

void ObjectText::number(std::string_view name, std::uint64_t number) {
  start(name);
  append_number(out_, number);
}

void ObjectText::number(std::string_view name, double number) {
  start(name);
  append_fraction(out_, number);
}

void ObjectText::member(std::string_view name, const value& v) {
  start(name);
  append(out_, v);
}

void ObjectText::member(std::string_view name, ObjectText object) {
  start(name);
  out_ += object.take();
}

void ObjectText::start_element() {
  if (out_.back() != '[') out_.push_back(',');
}

void ObjectText::open_list(std::string_view name) {
  start(name);
  out_.push_back('[');
}

void ObjectText::open_list() {
  start_element();
  out_.push_back('[');
}

void ObjectText::element(std::uint64_t number) {
  start_element();
  append_number(out_, number);
}

void ObjectText::close_list() {
  out_.push_back(']');
}

void ObjectText::open_object() {
  start_element();
  out_.push_back('{');
}

void ObjectText::close_object() {
  out_.push_back('}');
}

std::string ObjectText::take() {
  out_.push_back('}');
  return std::exchange(out_, "{");
}

std::optional<std::string_view> find_string(const object& in, std::string_view key) {
  const auto* found = in.if_contains(key);
  if (!found || !found->is_string()) return std::nullopt;
  return std::string_view(found->get_string());
}

std::optional<std::int64_t> find_int(const object& in, std::string_view key) {
  const auto number = find_number(in, key);
  if (!number || std::abs(*number) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<double> find_number(const object& in, std::string_view key) {
  const auto* found = in.if_contains(key);
  if (!found) return std::nullopt;
  if (found->is_int64()) return static_cast<double>(found->get_int64());
  if (found->is_uint64()) return static_cast<double>(found->get_uint64());
  if (found->is_double()) return found->get_double();
  return std::nullopt;
}

std::optional<bool> find_bool(const object& in, std::string_view key) {
  const auto* found = in.if_contains(key);
  if (!found || !found->is_bool()) return std::nullopt;
  return found->get_bool();
}

const object* find_object(const object& in, std::string_view key) {
  const auto* found = in.if_contains(key);
  return found ? found->if_object() : nullptr;
}

const array* find_array(const object& in, std::string_view key) {
  const auto* found = in.if_contains(key);
  return found ? found->if_array() : nullptr;
}

void merge_patch(object& target, const object& patch) {
  for (const auto& [key, change] : patch) {
    if (change.is_null()) {
      target.stable_erase(key);
    } else if (const auto* nested = change.if_object()) {
      auto& slot = target[key];
      if (!slot.is_object()) slot = object();
      merge_patch(slot.get_object(), *nested);
    } else {
      target[key] = change;
    }
  }
}

}  // namespace reef::json
