#include "organise/values.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::organise {
namespace {

constexpr std::size_t kIdBytesMax = 64;
constexpr std::size_t kNumberBytesMax = 40;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_id_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::optional<ValueType> value_type_from(std::string_view name) {
  if (name.empty()) return ValueType::none;
  if (name == "string") return ValueType::text;
  if (name == "number") return ValueType::number;
  if (name == "date") return ValueType::date;
  return std::nullopt;
}

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::none:
      return "";
    case ValueType::text:
      return "string";
    case ValueType::number:
      return "number";
    case ValueType::date:
      return "date";
  }
  return "";
}

std::optional<double> number_from(std::string_view text) {
  const auto digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || text.size() > kNumberBytesMax) return std::nullopt;
  // from_chars alone would take "inf", "nan", "1." and ".5".
  const auto point = digits.find('.');
  const auto whole = digits.substr(0, point);
  const auto rest =
      point == std::string_view::npos ? std::string_view("0") : digits.substr(point + 1);
  for (const auto part : {whole, rest}) {
    if (part.empty()) return std::nullopt;
    for (const char c : part)
      if (!is_digit(c)) return std::nullopt;
  }
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<TimePoint> date_from(std::string_view text) {
  constexpr std::size_t kDay = 10;      // 2026-01-31
  constexpr std::size_t kMinutes = 16;  // 2026-01-31T18:30
  if (text.size() < kDay || text.size() > 40) return std::nullopt;
  if (text.size() == kDay) return parse_iso(std::string(text) + "T00:00:00Z");
  if (text.size() == kMinutes) return parse_iso(std::string(text) + ":00Z");
  if (const auto whole = parse_iso(text)) return whole;
  return parse_iso(std::string(text) + "Z");
}

bool is_of_type(ValueType type, std::string_view value) {
  switch (type) {
    case ValueType::none:
      return false;
    case ValueType::text:
      return !value.empty();
    case ValueType::number:
      return number_from(value).has_value();
    case ValueType::date:
      return date_from(value).has_value();
  }
  return false;
}

Status check_id(std::string_view what, std::string_view id) {
  bool good = !id.empty() && id.size() <= kIdBytesMax && is_id_char(id.front()) && utf8::valid(id);
  for (const char c : id) good = good && (is_id_char(c) || c == '-' || c == '_' || c == '.');
  // C1 controls are valid UTF-8, but nobody means them.
  if (good && utf8::printable(id) == id) return Ok{};
  return Error(Errc::invalid,
               fmt::format("{} '{}' must be letters, digits, '-', '_' or '.', at most {} bytes, "
                           "starting with a letter or digit",
                           what, utf8::excerpt(id), kIdBytesMax));
}

}  // namespace reef::organise
