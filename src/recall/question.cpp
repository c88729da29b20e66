#include "recall/question.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"
#include "session/ids.h"

namespace reef::recall {
namespace {

constexpr std::array<std::string_view, 11> kConditions = {
    "role", "in", "before", "after", "agent", "sender", "key", "status", "label", "source", "is"};

constexpr std::array<std::string_view, 12> kMonths = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};

using Days = std::chrono::sys_days;

std::optional<Days> day_from(std::string_view text) {
  int year = 0;
  unsigned month = 0, day = 0;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size, auto& into) {
    const auto [end, failed] = std::from_chars(text.data() + at, text.data() + at + size, into);
    return failed == std::errc() && end == text.data() + at + size;
  };
  if (!number(0, 4, year) || !number(5, 2, month) || !number(8, 2, day)) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return Days(date);
}

std::optional<TimePoint> time_from(std::string_view text) {
  if (const auto day = day_from(text)) return TimePoint(*day);
  return parse_iso(text);
}

// Lower-case runs of letters and digits.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x80 || std::isalnum(u) != 0) {
      word += static_cast<char>(u < 0x80 ? std::tolower(u) : u);
    } else if (!word.empty()) {
      out.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) out.push_back(word);
  return out;
}

std::optional<unsigned> number_in(std::string_view word) {
  // 3rd, 21st
  if (word.size() > 2) {
    const auto end = word.substr(word.size() - 2);
    if (end == "st" || end == "nd" || end == "rd" || end == "th") word.remove_suffix(2);
  }
  unsigned value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

bool is_year(unsigned number) {
  return number >= 1970 && number <= 2100;
}

unsigned month_in(std::string_view word) {
  for (std::size_t i = 0; i < kMonths.size(); ++i)
    if (word == kMonths[i]) return static_cast<unsigned>(i + 1);
  return 0;
}

// What was written, to be looked for as words.
std::string as_words(const search::Condition& condition) {
  return condition.name + " " + condition.subject + " " + condition.value;
}

bool take(Question& question, const search::Condition& condition) {
  const bool plain = condition.subject.empty() && condition.op == ":";
  if (condition.name == "role") {
    const auto role = role_from(condition.value);
    if (!plain || !role) return false;
    (condition.negated ? question.not_role : question.role) = role;
    return true;
  }
  if (condition.name == "in") {
    if (!plain || condition.negated || !session::SessionId::parse(condition.value)) return false;
    question.session = condition.value;
    return true;
  }
  if (condition.name == "before" || condition.name == "after") {
    const auto time = time_from(condition.value);
    if (!plain || condition.negated || !time) return false;
    (condition.name == "before" ? question.before : question.after) = time;
    return true;
  }
  if (condition.value.find('"') != std::string::npos) return false;
  question.filter +=
      fmt::format("{}{}{}:{}{}", question.filter.empty() ? "" : " ", condition.negated ? "-" : "",
                  condition.name, condition.subject, condition.subject.empty() ? "" : condition.op);
  question.filter += condition.value.find(' ') == std::string::npos
                         ? condition.value
                         : fmt::format("\"{}\"", condition.value);
  return true;
}

}  // namespace

std::optional<DateHint> date_in(std::string_view text) {
  for (std::size_t i = 0; i + 10 <= text.size(); ++i) {
    const auto day = day_from(text.substr(i, 10));
    if (!day) continue;
    const std::chrono::year_month_day date(*day);
    return DateHint{int(date.year()), unsigned(date.month()), unsigned(date.day())};
  }
  const auto words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto month = month_in(words[i]);
    if (month == 0) continue;
    DateHint hint{0, month, 0};
    const auto next = i + 1 < words.size() ? number_in(words[i + 1]) : std::nullopt;
    const auto before = i > 0
                            ? number_in(words[i - 1] == "of" && i > 1 ? words[i - 2] : words[i - 1])
                            : std::nullopt;
    std::size_t after = i + 1;
    if (next && *next >= 1 && *next <= 31) {
      hint.day = *next;
      ++after;
    } else if (before && *before >= 1 && *before <= 31) {
      hint.day = *before;
    }
    if (after < words.size() && words[after] == "of") ++after;
    const auto year = after < words.size() ? number_in(words[after]) : std::nullopt;
    if (year && is_year(*year)) hint.year = static_cast<int>(*year);
    // "may" and "march" alone are words like others.
    if (hint.day == 0 && hint.year == 0 && (words[i] == "may" || words[i] == "march")) continue;
    return hint;
  }
  for (const auto& word : words)
    if (const auto year = number_in(word); word.size() == 4 && year && is_year(*year))
      return DateHint{static_cast<int>(*year), 0, 0};
  return std::nullopt;
}

double fit(const DateHint& hint, TimePoint time) {
  constexpr double kYear = 0.3, kNear = 0.5, kMonth = 0.2;
  const auto today = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(today);
  if (hint.year != 0 && hint.year != int(date.year())) return 0;
  if (hint.month == 0) return kYear;
  if (hint.day == 0) return hint.month == unsigned(date.month()) ? 1 : 0;
  const std::chrono::year_month_day wanted{date.year(), std::chrono::month(hint.month),
                                           std::chrono::day(hint.day)};
  if (!wanted.ok()) return 0;
  const auto apart = std::abs((today - Days(wanted)).count());
  // What was done on a day is often told some days later.
  if (apart <= 1) return 1;
  if (apart <= 7) return kNear;
  return hint.month == unsigned(date.month()) ? kMonth : 0;
}

Question parse_question(std::string_view text, bool last_word_is_prefix) {
  Question question;
  search::QueryOptions options;
  options.condition_names = kConditions;
  options.last_word_is_prefix = last_word_is_prefix;
  question.words = search::parse_query(text, options);
  for (const auto& condition : std::exchange(question.words.conditions, {})) {
    if (take(question, condition)) continue;
    auto more = search::parse_query(as_words(condition));
    for (auto& clause : more.clauses)
      if (question.words.clauses.size() < search::kClausesMax)
        question.words.clauses.push_back(std::move(clause));
  }
  question.date = date_in(text);
  for (const auto& word : words_of(text)) question.speakers.push_back(speaker_number(word));
  return question;
}

}  // namespace reef::recall
