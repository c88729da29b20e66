#include "recall/question.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

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

// Parses a year, a month, a day or a time, and returns its beginning; UTC unless it has a zone.
std::optional<TimePoint> time_from(std::string_view text) {
  constexpr std::string_view kFirst = "0000-01-01T00:00:00Z";
  constexpr std::array<std::size_t, 5> kCuts = {4, 7, 10, 16, 19};
  if (std::find(kCuts.begin(), kCuts.end(), text.size()) != kCuts.end()) {
    const auto whole = std::string(text) + std::string(kFirst.substr(text.size()));
    if (const auto time = parse_iso(whole); time && day_from(whole.substr(0, 10))) return time;
  }
  return parse_iso(text);
}

// Returns the runs of letters and digits, in lower case.
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

// Returns the condition's text, to be searched as words.
std::string as_words(const search::Condition& condition) {
  const auto words = condition.name + " " + condition.subject + " " + condition.value;
  return condition.negated ? "-\"" + words + "\"" : words;
}

bool take(Question& question, const search::Condition& condition) {
  const bool plain = condition.subject.empty() && condition.op == ":";
  if (condition.name == "role") {
    const auto role = role_from(utf8::lower_ascii(condition.value));
    if (!plain || !role) return false;
    (condition.negated ? question.not_roles : question.roles).push_back(*role);
    return true;
  }
  if (condition.name == "in") {
    auto id = session::SessionId::parse(condition.value);
    if (!plain || !id) return false;
    (condition.negated ? question.not_sessions : question.sessions).push_back(*std::move(id));
    return true;
  }
  if (condition.name == "before" || condition.name == "after") {
    const auto time = time_from(condition.value);
    if (!plain || !time) return false;
    // -before: means after:, and -after: means before:.
    if ((condition.name == "before") != condition.negated)
      question.before = std::min(question.before.value_or(*time), *time);
    else
      question.after = std::max(question.after.value_or(*time), *time);
    return true;
  }
  if (condition.value.find('"') != std::string::npos) return false;
  auto& filter = question.filters.emplace_back(
      fmt::format("{}{}:{}{}", condition.negated ? "-" : "", condition.name, condition.subject,
                  condition.subject.empty() ? "" : condition.op));
  filter += condition.value.find(' ') == std::string::npos ? condition.value
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
    // "may" and "march" alone are ordinary words.
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
  // People often tell a few days later what they did on a day.
  if (apart <= 1) return 1;
  if (apart <= 7) return kNear;
  return hint.month == unsigned(date.month()) ? kMonth : 0;
}

void look_for(Question& question, std::string_view text) {
  for (auto& clause : search::parse_query(text, {.exclusions_alone = true}).clauses)
    if (question.words.clauses.size() < search::kClausesReadMax)
      question.words.clauses.push_back(std::move(clause));
}

void settle(Question& question, bool conditions) {
  using Occur = search::Clause::Occur;
  auto& clauses = question.words.clauses;
  const bool nothing = std::all_of(clauses.begin(), clauses.end(), [](const auto& clause) {
    return clause.occur == Occur::excluded;
  });
  question.words.everything = nothing && conditions;
  if (nothing && !conditions)
    for (auto& clause : clauses) clause.occur = search::occur_of_words(clause.kind);
}

Question parse_question(std::string_view text, bool last_word_is_prefix) {
  Question question;
  search::QueryOptions options;
  options.condition_names = kConditions;
  options.last_word_is_prefix = last_word_is_prefix;
  options.exclusions_alone = true;
  question.words = search::parse_query(text, options);
  std::string said(text);  // without its conditions, which say where to look and not what for
  for (const auto& condition : std::exchange(question.words.conditions, {})) {
    if (take(question, condition))
      std::fill(said.begin() + static_cast<std::ptrdiff_t>(condition.begin),
                said.begin() + static_cast<std::ptrdiff_t>(condition.end), ' ');
    else
      look_for(question, as_words(condition));
  }
  question.date = date_in(said);
  for (const auto& word : words_of(said)) question.speakers.push_back(speaker_number(word));
  return question;
}

}  // namespace reef::recall
