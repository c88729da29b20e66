#include "bus/source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::bus {
namespace {

// The first part, and what follows its colon; the rest is empty behind the last part.
std::pair<std::string_view, std::string_view> split(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

Error invalid(std::string_view text, std::string_view why) {
  return Error(Errc::invalid, fmt::format("source '{}' {}", utf8::excerpt(text), why));
}

Status check(std::string_view text, bool stars) {
  if (text.empty()) return Error(Errc::invalid, "an event needs a source, like rss:fetched");
  if (text.size() > kSourceBytesMax)
    return invalid(text, fmt::format("has more than {} bytes", kSourceBytesMax));
  if (!utf8::valid(text)) return invalid(text, "is not UTF-8");
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (control) return invalid(text, "has control characters");
  if (text.ends_with(':')) return invalid(text, "has an empty part");
  std::size_t parts = 0;
  for (auto rest = text; !rest.empty();) {
    const auto [part, next] = split(rest);
    if (part.empty()) return invalid(text, "has an empty part");
    const bool star = part.find('*') != std::string_view::npos;
    if (star && !stars) return invalid(text, "has a *, which only subscriptions may have");
    if (star && part != "*")
      return invalid(text, "has a * within a part; it stands for a whole one");
    ++parts;
    rest = next;
  }
  if (parts > kPartsMax) return invalid(text, fmt::format("has more than {} parts", kPartsMax));
  return Ok{};
}

}  // namespace

Status check_source(std::string_view source) {
  return check(source, false);
}

Status check_pattern(std::string_view pattern) {
  return check(pattern, true);
}

std::string with_agent_renamed(const std::string& source, std::string_view from,
                               std::string_view to) {
  const auto begin = fmt::format("agent:{}:", from);
  if (!source.starts_with(begin)) return source;
  return fmt::format("agent:{}:{}", to, source.substr(begin.size()));
}

bool matches(std::string_view pattern, std::string_view source) {
  while (!pattern.empty() && !source.empty()) {
    const auto [wanted, patterns] = split(pattern);
    const auto [part, parts] = split(source);
    if (wanted != "*" && wanted != part) return false;
    pattern = patterns;
    source = parts;
  }
  return pattern.empty() && source.empty();
}

}  // namespace reef::bus
