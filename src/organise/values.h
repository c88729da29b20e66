// Parses numbers and dates as people write them in labels and filters, and checks ids of
// definitions. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace reef::organise {

enum class ValueType : std::uint8_t { none, text, number, date };

// "" means none; the others are string, number and date.
std::optional<ValueType> value_type_from(std::string_view name);
std::string_view name_of(ValueType type);

// Accepts numbers like -12.5; no exponent, no sign but '-'.
std::optional<double> number_from(std::string_view text);
// Accepts 2026-01-31, 2026-01-31T18:30 and whole ISO 8601 times; UTC unless there is a zone.
std::optional<TimePoint> date_from(std::string_view text);
bool is_of_type(ValueType type, std::string_view value);

// Accepts letters, digits, '-', '_', '.' and anything beyond ASCII, at most 64 bytes; an id must
// not start with one of the three signs.
Status check_id(std::string_view what, std::string_view id);

}  // namespace reef::organise
