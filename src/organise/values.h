// Numbers and dates as people write them in labels and filters, and the ids of definitions. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace reef::organise {

enum class ValueType : std::uint8_t { none, text, number, date };

// "" is none; else string, number, date.
std::optional<ValueType> value_type_from(std::string_view name);
std::string_view name_of(ValueType type);

// -12.5; no exponent, no sign but '-'.
std::optional<double> number_from(std::string_view text);
// 2026-01-31, 2026-01-31T18:30, or a whole ISO 8601 time; without a zone it is UTC.
std::optional<TimePoint> date_from(std::string_view text);
bool is_of_type(ValueType type, std::string_view value);

// Letters, digits, '-', '_', '.', anything beyond ASCII; starts with none of the three signs; at
// most 64 bytes.
Status check_id(std::string_view what, std::string_view id);

}  // namespace reef::organise
