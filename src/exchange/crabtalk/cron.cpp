#include "exchange/crabtalk/cron.h"

#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::exchange {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

std::vector<std::string> fields_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::string word; !text.empty();) {
    const auto end = text.find_first_of(" \t");
    word = std::string(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!word.empty()) out.push_back(std::move(word));
  }
  return out;
}

// Turns the names of a field into numbers; `shift` is subtracted from numbers that stand alone or
// in ranges, not from steps.
template <std::size_t N>
std::string with_numbers(std::string_view field, const std::array<std::string_view, N>& names,
                         int first, int shift) {
  if (field == "?") return "*";
  std::string out;
  bool step = false;
  for (std::size_t at = 0; at < field.size();) {
    const char c = field[at];
    std::size_t end = at;
    const auto is_word = [](char one) {
      return (one >= '0' && one <= '9') || (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z');
    };
    while (end < field.size() && is_word(field[end])) ++end;
    if (end == at) {
      step = c == '/';
      out.push_back(c);
      ++at;
      continue;
    }
    const auto word = field.substr(at, end - at);
    int number = 0;
    const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failed == std::errc() && stop == word.data() + word.size()) {
      out += fmt::format("{}", step ? number : number - shift);
    } else {
      std::string known(word);
      for (std::size_t i = 0; i < N; ++i)
        if (utf8::lower_ascii(word).starts_with(names[i]))
          known = fmt::format("{}", first + static_cast<int>(i));
      out += known;
    }
    step = false;
    at = end;
  }
  return out;
}

}  // namespace

Result<std::string> crabtalk_schedule(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return Error(Errc::invalid, fmt::format("the schedule '{}' {}", utf8::excerpt(text), why));
  };
  const auto fields = fields_of(text);
  if (fields.size() != 6 && fields.size() != 7) return refuse("has not six or seven fields");
  if (fields.size() == 7 && fields[6] != "*" && fields[6] != "?")
    return refuse("names years; jobs here come every year");
  const auto& seconds = fields[0];
  if (seconds.find_first_not_of("0123456789") != std::string::npos)
    return refuse("comes more than once a minute");
  return fmt::format("UTC {} {} {} {} {}", fields[1], fields[2], fields[3] == "?" ? "*" : fields[3],
                     with_numbers(fields[4], kMonths, 1, 0), with_numbers(fields[5], kDays, 0, 1));
}

}  // namespace reef::exchange
