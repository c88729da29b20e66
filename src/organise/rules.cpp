#include "organise/rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/utf8.h"
#include "organise/labels.h"

namespace reef::organise {
namespace {

constexpr std::size_t kPatternBytesMax = 1000;
constexpr std::int64_t kCompiledBytesMax = 1 << 20;
constexpr std::size_t kGroupsMax = 10;  // the whole match and nine groups
constexpr std::size_t kValueBytesMax = 200;

// Returns the highest group that a template mentions.
std::size_t groups_named(std::string_view value) {
  std::size_t highest = 0;
  for (std::size_t i = 0; i + 1 < value.size(); ++i) {
    if (value[i] != '$') continue;
    ++i;
    if (value[i] >= '0' && value[i] <= '9')
      highest = std::max(highest, static_cast<std::size_t>(value[i] - '0'));
  }
  return highest;
}

std::string filled(std::string_view value, const re2::StringPiece* groups, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool sign = value[i] == '$' && i + 1 < value.size();
    const char next = sign ? value[i + 1] : '\0';
    if (sign && next >= '0' && next <= '9') {
      const auto group = static_cast<std::size_t>(next - '0');
      if (group < count) out.append(groups[group].data(), groups[group].size());
      ++i;
    } else if (sign && next == '$') {
      out.push_back('$');
      ++i;
    } else {
      out.push_back(value[i]);
    }
  }
  return out;
}

// Returns the entry that one match adds; empty when it adds none.
std::string entry_for(const Rule& rule, const Labels& labels, const re2::StringPiece* groups,
                      std::size_t count) {
  const auto* label = labels.find(rule.label);
  if (!label || label->type == ValueType::none) return rule.label;
  std::string value;
  if (!rule.value.empty()) {
    value = filled(rule.value, groups, count);
  } else {
    const auto& found = count > 1 ? groups[1] : groups[0];
    value.assign(found.data(), found.size());
  }
  value = utf8::single_line(utf8::printable(value));
  if (value.size() > kValueBytesMax || !is_of_type(label->type, value)) return {};
  return rule.label + "::" + value;
}

}  // namespace

Result<Rule> make_rule(std::string label, std::string pattern, std::string value) {
  if (pattern.empty() || pattern.size() > kPatternBytesMax)
    return Error(Errc::invalid, fmt::format("a pattern has 1 to {} bytes, this one {}",
                                            kPatternBytesMax, pattern.size()));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kCompiledBytesMax);
  auto compiled = std::make_shared<const re2::RE2>(pattern, options);
  if (!compiled->ok())
    return Error(Errc::invalid, fmt::format("pattern '{}': {}", utf8::excerpt(pattern),
                                            utf8::excerpt(compiled->error(), 200)));
  if (re2::RE2::FullMatch("", *compiled))
    return Error(Errc::invalid, fmt::format("pattern '{}' matches every text, an empty one as well",
                                            utf8::excerpt(pattern)));
  const auto groups = static_cast<std::size_t>(compiled->NumberOfCapturingGroups());
  if (groups_named(value) > groups)
    return Error(Errc::invalid, fmt::format("value '{}' names ${}, the pattern has {} group(s)",
                                            utf8::excerpt(value), groups_named(value), groups));
  return Rule{std::move(label), std::move(pattern), std::move(value), std::move(compiled)};
}

std::string without_code(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  // Removes fences first, by lines: ``` or ~~~, closed by at least as many of the same or by the
  // end.
  std::size_t fence = 0;
  char fence_sign = '\0';
  std::string plain;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const auto start = line.find_first_not_of(" \t");
    std::size_t signs = 0;
    const char sign = start == std::string_view::npos ? '\0' : line[start];
    if (sign == '`' || sign == '~')
      while (start + signs < line.size() && line[start + signs] == sign) ++signs;
    // A line of backticks with another backtick behind them is inline code, not a fence.
    const bool opens =
        signs >= 3 && (sign == '~' || line.find('`', start + signs) == std::string_view::npos);
    if (fence == 0 && opens) {
      fence = signs;
      fence_sign = sign;
    } else if (fence > 0 && sign == fence_sign && signs >= fence &&
               line.find_first_not_of(" \t\r", start + signs) == std::string_view::npos) {
      fence = 0;
    } else if (fence == 0) {
      plain += line;
    }
    plain += '\n';
  }
  // Removes inline code: a run of backticks up to the next run of the same length. Lengths searched
  // in vain are remembered, so that many runs still take linear time.
  constexpr std::size_t kRunMax = 64;
  bool in_vain[kRunMax + 1] = {};
  for (std::size_t i = 0; i < plain.size();) {
    if (plain[i] != '`') {
      out.push_back(plain[i++]);
      continue;
    }
    std::size_t run = 0;
    while (i + run < plain.size() && plain[i + run] == '`') ++run;
    std::size_t close = std::string::npos;
    if (run <= kRunMax && !in_vain[run]) {
      for (std::size_t j = i + run; j < plain.size();) {
        if (plain[j] != '`') {
          ++j;
          continue;
        }
        std::size_t other = 0;
        while (j + other < plain.size() && plain[j + other] == '`') ++other;
        if (other == run) {
          close = j;
          break;
        }
        j += other;
      }
      if (close == std::string::npos) in_vain[run] = true;
    }
    if (close == std::string::npos) {
      out.append(run, '`');
      i += run;
    } else {
      out.push_back(' ');
      i = close + run;
    }
  }
  return out;
}

std::vector<std::string> labels_in(const Labels& labels, std::string_view message) {
  std::vector<std::string> found;
  if (labels.rules().empty()) return found;
  const auto text = without_code(utf8::prefix(message, kRuleTextBytesMax));
  std::size_t matches = 0;
  for (const auto& rule : labels.rules()) {
    const auto count = std::min<std::size_t>(
        kGroupsMax, 1 + static_cast<std::size_t>(rule.compiled->NumberOfCapturingGroups()));
    re2::StringPiece groups[kGroupsMax];
    // Empty matches (\b) are limited too, because each may have searched the whole text.
    std::size_t empty = 0;
    for (std::size_t at = 0;
         at <= text.size() && matches < kRuleMatchesMax && empty < kRuleMatchesMax;) {
      if (!rule.compiled->Match(text, at, text.size(), re2::RE2::UNANCHORED, groups,
                                static_cast<int>(count)))
        break;
      const auto end = static_cast<std::size_t>(groups[0].data() - text.data()) + groups[0].size();
      if (groups[0].empty()) {
        at = end + 1;  // RE2 may start inside a character
        ++empty;
        continue;
      }
      at = end;
      ++matches;
      auto entry = entry_for(rule, labels, groups, count);
      if (!entry.empty() && std::find(found.begin(), found.end(), entry) == found.end())
        found.push_back(std::move(entry));
    }
  }
  return found;
}

}  // namespace reef::organise
