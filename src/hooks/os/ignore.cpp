#include "hooks/os/ignore.h"

namespace reef::hooks::os {
namespace {

constexpr std::size_t kRulesMax = 1000;

}  // namespace

Ignore Ignore::parse(std::string_view text) {
  Ignore out;
  while (!text.empty() && out.rules_.size() < kRulesMax) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    while (line.ends_with('\r') || (line.ends_with(' ') && !line.ends_with("\\ ")))
      line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const bool keep = line.front() == '!';
    if (keep) line.remove_prefix(1);
    const bool folders = line.ends_with('/');
    if (folders) line.remove_suffix(1);
    const bool anywhere = line.find('/') == std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    // Braces have no meaning in .gitignore files.
    std::string plain;
    for (const char c : line) {
      if (c == '{' || c == '}') plain += '\\';
      plain += c;
    }
    auto pattern = Pattern::compile(plain);
    if (pattern) out.rules_.push_back(Rule{*std::move(pattern), keep, folders, anywhere});
  }
  return out;
}

Ignore::Verdict Ignore::judge(std::string_view path, bool folder) const {
  const auto name = path.substr(path.rfind('/') + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->folders && !folder) continue;
    if (rule->pattern.matches(rule->anywhere ? name : path))
      return rule->keep ? Verdict::kept : Verdict::ignored;
  }
  return Verdict::silent;
}

}  // namespace reef::hooks::os
