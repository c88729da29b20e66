#include "session/ids.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "session/words.h"

namespace reef::session {
namespace {

bool is_id_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

Result<SessionId> SessionId::parse(std::string_view text) {
  if (text.empty()) return Error(Errc::invalid, "a session id must not be empty");
  if (text.size() > kBytesMax)
    return Error(Errc::invalid, fmt::format("a session id has at most {} bytes, this one {}",
                                            kBytesMax, text.size()));
  if (text.front() == '.')
    return Error(Errc::invalid,
                 fmt::format("session id '{}' must not start with a dot", utf8::excerpt(text)));
  for (const char c : text)
    if (!is_id_char(c))
      return Error(Errc::invalid,
                   fmt::format("session id '{}' may hold letters, digits, '.', '_' and '-' only",
                               utf8::excerpt(text)));
  return SessionId(std::string(text));
}

std::uint64_t session_id_choices() {
  return std::uint64_t{adjectives().size()} * nouns().size();
}

SessionId make_session_id(TimePoint now, std::uint64_t choice, unsigned attempt) {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(now));
  const auto words = choice % session_id_choices();
  auto text = fmt::format("{:02}{:02}{:02}-{}-{}", int(date.year()) % 100, unsigned(date.month()),
                          unsigned(date.day()), adjectives()[words % adjectives().size()],
                          nouns()[words / adjectives().size()]);
  if (attempt > 1) text += fmt::format("-{}", attempt);
  auto id = SessionId::parse(text);
  return *std::move(id);
}

EntryId fresh_entry_id(Random& random) {
  constexpr std::size_t kDigits = 12;
  return EntryId{random.hex(kDigits)};
}

namespace {

Status check_text(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.empty()) return Error(Errc::invalid, fmt::format("{} must not be empty", what));
  if (text.size() > bytes_max)
    return Error(Errc::invalid,
                 fmt::format("{} has at most {} bytes, this one {}", what, bytes_max, text.size()));
  if (!utf8::valid(text)) return Error(Errc::invalid, fmt::format("{} is not valid UTF-8", what));
  if (utf8::printable(text).size() != text.size() ||
      text.find_first_of("\n\t") != std::string_view::npos)
    return Error(Errc::invalid, fmt::format("{} '{}' must not hold control characters", what,
                                            utf8::excerpt(text)));
  return Ok{};
}

constexpr std::size_t kKeyPartBytesMax = Key::kBytesMax / 2 - sizeof "agent:";

}  // namespace

Status check_sender(std::string_view sender) {
  return check_text("sender", sender, kKeyPartBytesMax);
}

Status check_name(std::string_view what, std::string_view name) {
  REEF_CHECK(check_text(what, name, kKeyPartBytesMax));
  if (name.find('/') != std::string_view::npos || name.find("..") != std::string_view::npos)
    return Error(Errc::invalid,
                 fmt::format("{} '{}' must not hold '/' or '..'", what, utf8::excerpt(name)));
  return Ok{};
}

Status check_agent_name(std::string_view name) {
  REEF_CHECK(check_name("agent name", name));
  // A colon would let two pairs make one key.
  if (name.find(':') != std::string_view::npos)
    return Error(Errc::invalid,
                 fmt::format("agent name '{}' must not hold ':'", utf8::excerpt(name)));
  return Ok{};
}

Status check_part(std::string_view field, std::string_view text) {
  return field == "agent" ? check_agent_name(text) : check_sender(text);
}

Result<Key> Key::of_pair(std::string_view agent, std::string_view sender) {
  REEF_CHECK(check_agent_name(agent));
  REEF_CHECK(check_sender(sender));
  return Key(fmt::format("agent:{}:{}", agent, sender));
}

std::optional<std::pair<std::string, std::string>> Key::pair() const {
  constexpr std::string_view kAgent = "agent:";
  if (!text_.starts_with(kAgent)) return std::nullopt;
  const auto rest = std::string_view(text_).substr(kAgent.size());
  const auto colon = rest.find(':');
  return std::pair(std::string(rest.substr(0, colon)), std::string(rest.substr(colon + 1)));
}

Result<Key> Key::parse(std::string_view text) {
  REEF_CHECK(check_text("key", text, kBytesMax));
  constexpr std::string_view kAgent = "agent:";
  if (text.starts_with(kAgent) || text == "agent") {
    const auto rest = text.substr(std::min(text.size(), kAgent.size()));
    const auto colon = rest.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == rest.size())
      return Error(Errc::invalid, fmt::format("key '{}' must look like agent:<agent>:<sender>",
                                              utf8::excerpt(text)));
    REEF_CHECK(check_agent_name(rest.substr(0, colon)));
  }
  return Key(std::string(text));
}

}  // namespace reef::session
