#include "local/intent.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"
#include "local/words.h"

namespace reef::local {
namespace {

constexpr std::size_t kGreetingWordsMax = 3;

constexpr std::array<std::string_view, 11> kPolite = {"please ", "please, ", "hey ",  "hey, ",
                                                      "hi ",     "hi, ",     "ok ",   "ok, ",
                                                      "okay ",   "okay, ",   "reef, "};
// Introduces a request, in addition to kPolite.
constexpr std::array<std::string_view, 13> kWanting = {"so ",
                                                       "so, ",
                                                       "well ",
                                                       "well, ",
                                                       "and ",
                                                       "also ",
                                                       "also, ",
                                                       "now ",
                                                       "now, ",
                                                       "oh, ",
                                                       "i want you to ",
                                                       "i'd like you to ",
                                                       "i would like you to "};
// Introduces a request in the form of a question, which may end in a question mark.
constexpr std::array<std::string_view, 4> kRequest = {"can you ", "could you ", "would you ",
                                                      "will you "};
// These begin a command, whatever follows.
constexpr std::array<std::string_view, 13> kRememberThat = {"remember that",
                                                            "remember this:",
                                                            "remember:",
                                                            "note that",
                                                            "note:",
                                                            "note to self",
                                                            "make a note that",
                                                            "make a note:",
                                                            "keep in mind that",
                                                            "keep in mind:",
                                                            "don't forget that",
                                                            "dont forget that",
                                                            "do not forget that"};
// These may begin a question, too.
constexpr std::array<std::string_view, 4> kRemember = {"remember", "don't forget", "dont forget",
                                                       "do not forget"};
// Objects that leave open what to remember.
constexpr std::array<std::string_view, 4> kPointing = {"that", "this", "it", "these"};
constexpr std::array<std::string_view, 9> kForget = {"forget the note about ",
                                                     "forget the note that ",
                                                     "forget the note called ",
                                                     "forget the note named ",
                                                     "forget the note ",
                                                     "forget about ",
                                                     "forget that ",
                                                     "forget: ",
                                                     "forget "};
constexpr std::array<std::string_view, 19> kAbout = {"what we said about ",
                                                     "what i said about ",
                                                     "what we decided about ",
                                                     "what we know about ",
                                                     "what you know about ",
                                                     "what did we say about ",
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
constexpr std::array<std::string_view, 26> kAsking = {
    "what ",  "what's ", "who ",  "who's ", "when ",   "where ", "which ",   "whose ",  "why ",
    "how ",   "do ",     "did ",  "does ",  "is ",     "are ",   "was ",     "were ",   "can ",
    "could ", "has ",    "have ", "had ",   "should ", "would ", "tell me ", "show me "};
// Introduces a question.
constexpr std::array<std::string_view, 4> kTellMe = {"tell me again ", "tell me ", "show me again ",
                                                     "show me "};
// Introduces a question only if a question word follows: "remind me to" asks for something else.
constexpr std::array<std::string_view, 2> kRemindMe = {"remind me again ", "remind me "};
constexpr std::array<std::string_view, 11> kAskWords = {"what ", "what's ", "who ",   "who's ",
                                                        "when ", "where ",  "which ", "whose ",
                                                        "why ",  "how ",    "if "};
constexpr std::array<std::string_view, 8> kRecap = {
    "what did i say", "what have i said", "what did we say", "summary",
    "summarise",      "summarize",        "so far",          "recap"};
constexpr std::array<std::string_view, 4> kTitle = {"give this conversation a title",
                                                    "suggest a title", "title this conversation",
                                                    "name this conversation"};

constexpr std::array<std::string_view, 7> kApostrophes = {"'", "’", "‘", "ʼ", "＇", "´", "`"};
// Full-width, Arabic, reversed, Armenian, Ethiopic, small and doubled question marks, and the Greek
// one.
constexpr std::array<std::string_view, 12> kAskMarks = {"？", "؟", "⸮", "՞", "፧", "﹖",
                                                        "︖", "⁇", "⁈", "⁉", "‽", "\u037E"};
constexpr std::array<std::string_view, 4> kStops = {".", "!", "。", "！"};
struct Quotes {
  std::string_view open, close;
};
constexpr std::array<Quotes, 8> kQuotes = {{{"\"", "\""},
                                            {"'", "'"},
                                            {"`", "`"},
                                            {"“", "”"},
                                            {"‘", "’"},
                                            {"„", "“"},
                                            {"«", "»"},
                                            {"「", "」"}}};

// Returns the size of the first of `parts` at the front or the end of `text`; 0 if there is none.
template <std::size_t N>
std::size_t front_of(std::string_view text, const std::array<std::string_view, N>& parts) {
  for (const auto part : parts)
    if (text.starts_with(part)) return part.size();
  return 0;
}
template <std::size_t N>
std::size_t end_of(std::string_view text, const std::array<std::string_view, N>& parts) {
  for (const auto part : parts)
    if (text.ends_with(part)) return part.size();
  return 0;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Returns how much of `text` matches `beginning`, which is in lower case, or 0. A blank matches any
// white space, and an apostrophe any that people and phones write.
std::size_t reads_as(std::string_view text, std::string_view beginning) {
  std::size_t at = 0;
  for (const char wanted : beginning) {
    std::size_t taken = 0;
    if (wanted == ' ')
      taken = std::min(text.find_first_not_of(kWhiteSpace, at), text.size()) - at;
    else if (wanted == '\'')
      taken = front_of(text.substr(at), kApostrophes);
    else
      taken = at < text.size() && lower(text[at]) == wanted ? 1 : 0;
    if (taken == 0) return 0;
    at += taken;
  }
  return at;
}

// Returns the text after the first of `beginnings` that it begins with.
template <std::size_t N>
std::optional<std::string_view> after(std::string_view text,
                                      const std::array<std::string_view, N>& beginnings) {
  for (const auto beginning : beginnings)
    if (const auto size = reads_as(text, beginning)) return text.substr(size);
  return std::nullopt;
}

template <std::size_t N>
bool has_any(std::string_view lower, const std::array<std::string_view, N>& parts) {
  for (const auto part : parts)
    if (lower.find(part) != std::string_view::npos) return true;
  return false;
}

// Returns the text inside the quotes if all of `text` is quoted; quotations inside are part of it.
std::optional<std::string_view> unquoted(std::string_view text) {
  for (const auto& [open, close] : kQuotes) {
    if (text.size() < open.size() + close.size() || !text.starts_with(open) ||
        !text.ends_with(close))
      continue;
    const auto inside = text.substr(open.size(), text.size() - open.size() - close.size());
    if (inside.find(open) == std::string_view::npos && inside.find(close) == std::string_view::npos)
      return trim(inside);
  }
  return std::nullopt;
}

// Returns the text without its final punctuation.
std::string_view without_end(std::string_view text) {
  for (;;) {
    text = trim(text);
    auto size = std::max(end_of(text, kStops), end_of(text, kAskMarks));
    if (text.ends_with('?')) size = 1;
    if (size == 0) return text;
    text.remove_suffix(size);
  }
}

// Makes a search text of it: one line without quotes.
std::string bare(std::string_view text) {
  text = without_end(text);
  return utf8::single_line(unquoted(text).value_or(text));
}

// Returns the text to remember, with its lines. One full stop at the end belongs to the sentence;
// other marks may be part of a password.
std::string kept(std::string_view text) {
  text = trim(text);
  if (text.ends_with("。"))
    text.remove_suffix(std::string_view("。").size());
  else if (text.ends_with('.') && !text.ends_with(".."))
    text.remove_suffix(1);
  text = trim(text);
  return std::string(unquoted(text).value_or(text));
}

// In Greek the question mark is a semicolon.
bool ends_in_greek_question(std::string_view text) {
  text = trim(text);
  if (!text.ends_with(';') || text.size() < 3) return false;
  const auto lead = static_cast<unsigned char>(text[text.size() - 3]);
  // U+0380 to U+03FF, or U+1F00 to U+1FFF with the older accents, in three bytes.
  return lead == 0xCE || lead == 0xCF ||
         (text.size() >= 4 && text.substr(text.size() - 4).starts_with("\xE1") && lead >= 0xBC);
}

bool has_question_mark(std::string_view text) {
  for (auto at = text.find('?'); at != std::string_view::npos; at = text.find('?', at + 1)) {
    // A question mark inside an address or quotes does not count.
    const auto next = text.find_first_not_of("?!)", at);
    if (next == std::string_view::npos || kWhiteSpace.find(text[next]) != std::string_view::npos)
      return true;
  }
  return has_any(text, kAskMarks) || ends_in_greek_question(text);
}

bool is_greeting(std::string_view text) {
  Words words;
  const auto said = words.of(text);
  if (said.empty() || said.size() > kGreetingWordsMax) return false;
  for (const std::string hello : {"hello", "hi", "hey", "greet"})
    if (said.contains(hello)) return true;
  return false;
}

// Returns the text after one of these beginnings, which must end there: "remember that: x", but not
// "that's".
template <std::size_t N>
std::optional<std::string_view> behind(std::string_view text,
                                       const std::array<std::string_view, N>& beginnings) {
  for (const auto beginning : beginnings) {
    const auto size = reads_as(text, beginning);
    if (size == 0) continue;
    auto rest = text.substr(size);
    if (beginning.ends_with(':') || rest.empty()) return rest;
    if (front_of(rest, kStops) > 0 && without_end(rest).empty()) return std::string_view();
    if (rest.front() == ':' || rest.front() == ',') return rest.substr(1);
    // "remember that : x"
    const auto next = rest.find_first_not_of(kWhiteSpace);
    if (next == 0) continue;
    return rest.substr(next != std::string_view::npos && rest[next] == ':' ? next + 1 : 0);
  }
  return std::nullopt;
}

// A text without the polite phrases before a command.
struct Command {
  std::string_view text;   // the command itself
  bool requested = false;  // asked as a question: "can you"
};
Command command_in(std::string_view text) {
  Command command{text};
  for (;;) {
    if (const auto rest = after(command.text, kRequest)) {
      command.requested = true;
      command.text = *rest;
    } else if (const auto more = after(command.text, kPolite)) {
      command.text = *more;
    } else if (const auto other = after(command.text, kWanting)) {
      command.text = *other;
    } else {
      return command;
    }
  }
}

// Returns the text to remember; nullopt when this is no such command.
std::optional<std::string> to_remember(const Command& command) {
  if (const auto what = behind(command.text, kRememberThat)) {
    auto text = trim(*what);
    if (command.requested && text.ends_with('?')) text.remove_suffix(1);
    return kept(text);
  }
  if (command.requested || has_question_mark(command.text)) return std::nullopt;
  const auto what = behind(command.text, kRemember);
  if (!what) return std::nullopt;
  const auto said = utf8::lower_ascii(without_end(*what));
  const bool open = std::find(kPointing.begin(), kPointing.end(), said) != kPointing.end();
  return open ? std::string() : kept(*what);
}

// Returns the question without "tell me" in front.
std::string_view question_in(std::string_view text) {
  if (const auto rest = after(text, kTellMe)) return *rest;
  const auto rest = after(text, kRemindMe);
  return rest && after(*rest, kAskWords) ? *rest : text;
}

}  // namespace

bool is_question(std::string_view text) {
  return has_question_mark(text) || after(text, kAsking).has_value() ||
         question_in(text).size() < text.size();
}

Intent intent_of(std::string_view text) {
  auto rest = trim(utf8::prefix(text, kCommandBytesMax));
  const bool is_short = text.size() <= kCommandBytesMax;
  const auto whole = rest;
  while (const auto more = after(rest, kPolite)) rest = *more;
  const auto command = command_in(rest);
  if (auto subject = to_remember(command)) {
    if (is_short) return {Intent::Kind::remember, std::move(*subject)};
    return {.kind = Intent::Kind::remember, .too_long = true};
  }
  const auto asked = question_in(rest);
  if (is_short) {
    const bool asks = command.requested || has_question_mark(rest);
    if (const auto what = after(command.text, kForget); what && !asks)
      if (auto subject = bare(*what); !subject.empty())
        return {Intent::Kind::forget, std::move(subject), unquoted(without_end(*what)).has_value()};
    if (is_greeting(whole)) return {Intent::Kind::greeting, {}};
    if (const auto what = after(asked, kAbout))
      if (auto subject = bare(*what); !subject.empty())
        return {Intent::Kind::question, std::move(subject)};
    const auto lower = utf8::lower_ascii(utf8::single_line(rest));
    if (has_any(lower, kTitle)) return {Intent::Kind::title, {}};
    if (has_any(lower, kRecap)) return {Intent::Kind::recap, {}};
  }
  if (is_question(rest)) return {Intent::Kind::question, bare(asked)};
  return {Intent::Kind::statement, {}};
}

}  // namespace reef::local
