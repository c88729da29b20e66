#include "model/local/local.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/notify.h"
#include "base/utf8.h"
#include "model/tokens.h"

namespace reef::model {
namespace {

constexpr std::size_t kQuoteChars = 300;
// How much of one message is looked at: an answer must not take longer because a file was pasted.
constexpr std::size_t kLookBytesMax = 16U << 10;
constexpr std::size_t kRecentMax = 5;
constexpr std::size_t kQuotesMax = 3;

constexpr std::string_view kWhatIAm =
    "I am Reef's local provider, not a language model: I answer only from what is written in this "
    "conversation.";

constexpr std::array<std::string_view, 68> kStopWords = {
    "a",     "about", "all",   "an",   "and",  "any",  "are", "as",   "at",  "be",   "been", "but",
    "by",    "can",   "could", "did",  "do",   "does", "for", "from", "had", "has",  "have", "he",
    "her",   "his",   "how",   "i",    "if",   "in",   "is",  "it",   "its", "me",   "my",   "no",
    "not",   "of",    "on",    "or",   "our",  "said", "say", "she",  "so",  "tell", "that", "the",
    "their", "them",  "there", "they", "this", "to",   "us",  "was",  "we",  "were", "what", "when",
    "where", "which", "who",   "why",  "will", "with", "you", "your"};

// Lower-case words of ASCII letters and digits; other scripts stay together between ASCII.
std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty() && std::find(kStopWords.begin(), kStopWords.end(), word) == kStopWords.end())
      words.insert(word);
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c >= 'A' && c <= 'Z') {
      word.push_back(static_cast<char>(c - 'A' + 'a'));
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || byte >= 0x80) {
      word.push_back(c);
    } else {
      flush();
    }
  }
  flush();
  return words;
}

std::string quote(std::string_view text) {
  const auto line = utf8::single_line(text);
  const auto head = utf8::prefix_chars(line, kQuoteChars);
  return fmt::format("\"{}{}\"", head, head.size() < line.size() ? "..." : "");
}

bool is_question(std::string_view text, const std::string& lower) {
  if (text.find('?') != std::string_view::npos) return true;
  for (const std::string_view start :
       {"what ", "who ", "when ", "where ", "which ", "why ", "how ", "do ", "did ", "does ", "is ",
        "are ", "was ", "were ", "can ", "could ", "tell me "})
    if (lower.starts_with(start)) return true;
  return false;
}

bool asks_for_all(const std::string& lower) {
  for (const std::string_view words : {"what did i say", "what have i said", "what did we say",
                                       "summary", "summarise", "summarize", "so far", "recap"})
    if (lower.find(words) != std::string::npos) return true;
  return false;
}

bool is_greeting(const std::string& lower) {
  constexpr std::size_t kGreetingBytesMax = 60;
  if (lower.size() > kGreetingBytesMax) return false;
  const auto words = words_of(lower);
  if (words.empty() || words.size() > 3) return false;
  for (const auto& word : words)
    if (word == "hello" || word == "hi" || word == "hey" || word == "greetings") return true;
  return false;
}

struct Said {
  std::size_t number;  // of the user's message, from 1
  std::string text;
};

std::string list_recent(const std::vector<Said>& earlier) {
  if (earlier.empty()) return "Nothing yet: this is the first message of the conversation.";
  const auto first = earlier.size() > kRecentMax ? earlier.size() - kRecentMax : 0;
  auto out =
      earlier.size() > kRecentMax
          ? fmt::format("You have written {} messages; the last {}:", earlier.size(), kRecentMax)
          : std::string("So far you have written:");
  for (auto i = first; i < earlier.size(); ++i)
    out += fmt::format("\n{}. {}", earlier[i].number, quote(earlier[i].text));
  return out;
}

// The user's earlier messages that share most words with the question, best first.
std::string quote_best(const std::vector<Said>& earlier, const std::set<std::string>& asked) {
  std::vector<std::pair<std::size_t, const Said*>> scored;
  for (const auto& said : earlier) {
    // A question is not an answer to itself.
    if (is_question(said.text, utf8::lower_ascii(said.text))) continue;
    const auto words = words_of(said.text);
    const auto shared = static_cast<std::size_t>(std::count_if(
        asked.begin(), asked.end(), [&](const auto& word) { return words.contains(word); }));
    if (shared > 0) scored.emplace_back(shared, &said);
  }
  if (scored.empty()) return {};
  // Ties go to the newer message: it may correct the older one.
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->number > b.second->number;
  });
  std::string out = "From this conversation:";
  for (std::size_t i = 0; i < std::min(scored.size(), kQuotesMax); ++i)
    out += fmt::format("\nmessage {}: {}", scored[i].second->number, quote(scored[i].second->text));
  return out;
}

}  // namespace

std::string local_answer(const std::vector<session::MessagePtr>& messages) {
  std::vector<Said> said;
  for (const auto& message : messages)
    if (std::holds_alternative<session::UserMessage>(*message))
      said.push_back(Said{said.size() + 1,
                          std::string(utf8::prefix(session::text_of(*message), kLookBytesMax))});
  if (said.empty()) return std::string(kWhatIAm);

  const auto asked = said.back().text;
  said.pop_back();
  const auto lower = utf8::lower_ascii(asked);
  const auto kept = fmt::format("message {}", said.size() + 1);

  if (asks_for_all(lower)) return fmt::format("{}\n\n({})", list_recent(said), kWhatIAm);
  if (is_greeting(lower))
    return fmt::format("Hello! {} Tell me things, and ask me for them later.", kWhatIAm);
  if (is_question(asked, lower)) {
    const auto found = quote_best(said, words_of(asked));
    if (!found.empty()) return fmt::format("{}\n\n({})", found, kWhatIAm);
    return fmt::format("Nothing in this conversation answers that. {}", kWhatIAm);
  }
  return fmt::format("Noted as {} and kept. {} Ask me for it later.", kept, kWhatIAm);
}

Task<Outcome> LocalProvider::stream(const Request& request, const DeltaSink& sink) {
  auto text = local_answer(request.messages);
  std::string_view rest = text;
  while (!rest.empty()) {
    auto end = rest.find(' ');
    end = end == std::string_view::npos ? rest.size() : end + 1;
    sink(Delta{Delta::Kind::text, std::string(rest.substr(0, end))});
    rest.remove_prefix(end);
    co_await yield_to_loop();
  }
  Reply reply;
  reply.message.usage.input = estimate_tokens(request);
  reply.message.usage.output = estimate_tokens(text);
  reply.message.content.push_back(session::TextBlock{std::move(text)});
  co_return reply;
}

}  // namespace reef::model
