#include "model/local/intent.h"

#include <array>
#include <optional>

#include "base/utf8.h"
#include "model/local/words.h"

namespace reef::model {
namespace {

constexpr std::size_t kGreetingWordsMax = 3;
// A longer text is a text, whatever it begins with.
constexpr std::size_t kCommandBytesMax = 4096;

constexpr std::array<std::string_view, 6> kPolite = {"please ", "hey ",  "hi ",
                                                     "ok ",     "okay ", "reef, "};
constexpr std::array<std::string_view, 8> kRemember = {
    "remember that ", "remember: ",         "remember ",          "note that ",
    "note: ",         "keep in mind that ", "don't forget that ", "don't forget "};
constexpr std::array<std::string_view, 4> kForget = {"forget about ", "forget that ",
                                                     "forget: ", "forget "};
constexpr std::array<std::string_view, 14> kAbout = {"what did we say about ",
                                                     "what did i say about ",
                                                     "what did we decide about ",
                                                     "what have we said about ",
                                                     "what have i said about ",
                                                     "what do you know about ",
                                                     "what do we know about ",
                                                     "what was said about ",
                                                     "search for ",
                                                     "search ",
                                                     "look for ",
                                                     "look up ",
                                                     "find ",
                                                     "recall "};
constexpr std::array<std::string_view, 25> kAsking = {
    "what ",  "what's ", "who ",  "who's ", "when ",   "where ", "which ",  "whose ", "why ",
    "how ",   "do ",     "did ",  "does ",  "is ",     "are ",   "was ",    "were ",  "can ",
    "could ", "has ",    "have ", "had ",   "should ", "would ", "tell me "};
constexpr std::array<std::string_view, 8> kRecap = {
    "what did i say", "what have i said", "what did we say", "summary",
    "summarise",      "summarize",        "so far",          "recap"};
constexpr std::array<std::string_view, 4> kTitle = {"give this conversation a title",
                                                    "suggest a title", "title this conversation",
                                                    "name this conversation"};

// The text behind the first of these it begins with.
template <std::size_t N>
std::optional<std::string_view> after(std::string_view text, std::string_view lower,
                                      const std::array<std::string_view, N>& beginnings) {
  for (const auto beginning : beginnings)
    if (lower.starts_with(beginning)) return text.substr(beginning.size());
  return std::nullopt;
}

template <std::size_t N>
bool has_any(std::string_view lower, const std::array<std::string_view, N>& parts) {
  for (const auto part : parts)
    if (lower.find(part) != std::string_view::npos) return true;
  return false;
}

std::string bare(std::string_view text) {
  constexpr std::string_view kEnds = " \t\r\n.!?\"'";
  const auto begin = text.find_first_not_of(kEnds);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kEnds) - begin + 1));
}

bool is_greeting(std::string_view text) {
  Words words;
  const auto said = words.of(text);
  if (said.empty() || said.size() > kGreetingWordsMax) return false;
  for (const std::string hello : {"hello", "hi", "hey", "greet"})
    if (said.contains(hello)) return true;
  return false;
}

}  // namespace

bool is_question(std::string_view text) {
  if (text.find('?') != std::string_view::npos) return true;
  const auto lower = utf8::lower_ascii(utf8::prefix(text, kCommandBytesMax));
  return after(lower, lower, kAsking).has_value();
}

Intent intent_of(std::string_view text) {
  const auto whole = utf8::single_line(utf8::prefix(text, kCommandBytesMax));
  std::string_view rest = whole;
  auto lower = utf8::lower_ascii(rest);
  if (text.size() <= kCommandBytesMax && is_greeting(rest)) return {Intent::Kind::greeting, {}};
  while (const auto behind = after(rest, lower, kPolite)) {
    rest = *behind;
    lower = utf8::lower_ascii(rest);
  }
  const bool asks = rest.find('?') != std::string_view::npos;
  if (text.size() <= kCommandBytesMax) {
    if (const auto what = after(rest, lower, kRemember); what && !asks)
      if (auto subject = bare(*what); !subject.empty())
        return {Intent::Kind::remember, std::move(subject)};
    if (const auto what = after(rest, lower, kForget); what && !asks)
      if (auto subject = bare(*what); !subject.empty())
        return {Intent::Kind::forget, std::move(subject)};
    if (const auto what = after(rest, lower, kAbout))
      if (auto subject = bare(*what); !subject.empty())
        return {Intent::Kind::question, std::move(subject)};
    if (has_any(lower, kTitle)) return {Intent::Kind::title, {}};
    if (has_any(lower, kRecap)) return {Intent::Kind::recap, {}};
  }
  if (is_question(rest)) return {Intent::Kind::question, bare(rest)};
  return {Intent::Kind::statement, {}};
}

}  // namespace reef::model
