#include "local/extract.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "local/words.h"

namespace reef::local {
namespace {

// Limits for one message and for one sentence, because a pasted file is not a summary.
constexpr std::size_t kLookBytesMax = 16U << 10;
constexpr std::size_t kSentenceBytesMax = 400;
constexpr std::size_t kSentenceWordsMin = 3;
// Stems of words that people use when they settle something.
constexpr std::array<std::string_view, 16> kSettling = {
    "decid", "agre",    "must", "never", "alway",    "prefer", "todo",   "next",
    "plan",  "deadlin", "fix",  "chang", "remember", "import", "becaus", "instead"};

struct Sentence {
  std::string_view speaker;
  std::string text;
  std::vector<std::string> stems;  // without stop words
  double score = 0;
};

void split(std::string_view speaker, std::string_view text, Words& words,
           std::vector<Sentence>& out) {
  const auto add = [&](std::string_view part) {
    auto line = utf8::single_line(part);
    if (line.empty()) return;
    Sentence sentence{speaker, std::string(utf8::prefix(line, kSentenceBytesMax)), {}};
    for (auto& place : words.places(sentence.text))
      if (!place.empty) sentence.stems.push_back(std::move(place.stem));
    if (sentence.stems.size() >= kSentenceWordsMin) out.push_back(std::move(sentence));
  };
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool stop = text[i] == '.' || text[i] == '!' || text[i] == '?';
    const bool ends = text[i] == '\n' ||
                      (stop && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n'));
    if (!ends) continue;
    add(text.substr(begin, i + 1 - begin));
    begin = i + 1;
  }
  add(text.substr(begin));
}

std::vector<Sentence> sentences_of(const std::vector<session::MessagePtr>& messages) {
  Words words;
  std::vector<Sentence> out;
  for (const auto& message : messages) {
    if (session::is_hidden(*message)) continue;
    std::string_view speaker = session::role_of(*message);
    if (std::holds_alternative<session::SummaryMessage>(*message))
      speaker = "earlier";
    else if (!std::holds_alternative<session::UserMessage>(*message) &&
             !std::holds_alternative<session::AssistantMessage>(*message))
      continue;
    const auto text = session::text_of(*message);
    split(speaker, utf8::prefix(text, kLookBytesMax), words, out);
  }
  return out;
}

bool settles(const Sentence& sentence) {
  return std::any_of(sentence.stems.begin(), sentence.stems.end(), [](const auto& stem) {
    return std::find(kSettling.begin(), kSettling.end(), stem) != kSettling.end();
  });
}

}  // namespace

std::string summarise(const std::vector<session::MessagePtr>& messages, std::size_t bytes_max) {
  auto sentences = sentences_of(messages);
  std::map<std::string, double> said_in;  // number of sentences with the word
  for (const auto& sentence : sentences)
    for (const auto& stem : std::set(sentence.stems.begin(), sentence.stems.end())) ++said_in[stem];
  // Words that occur again and again tell what the conversation is about. A long sentence does not
  // win by length alone.
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    auto& sentence = sentences[i];
    const std::set distinct(sentence.stems.begin(), sentence.stems.end());
    for (const auto& stem : distinct) sentence.score += std::log1p(said_in[stem]);
    sentence.score /= std::sqrt(double(sentence.stems.size()) + 4);
    if (sentence.speaker == "user") sentence.score *= 1.3;
    if (sentence.speaker == "earlier") sentence.score *= 1.5;
    if (settles(sentence)) sentence.score *= 1.5;
    if (i == 0 || i + 1 == sentences.size()) sentence.score *= 1.3;
  }
  std::vector<std::size_t> order(sentences.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sentences[a].score > sentences[b].score;
  });
  const auto line_of = [&](std::size_t i) {
    return fmt::format("- {}: {}\n", sentences[i].speaker, sentences[i].text);
  };
  std::vector<std::size_t> kept;
  std::set<std::string> there;
  std::size_t bytes = 0;
  for (const auto i : order) {
    const auto size = line_of(i).size();
    if (bytes + size > bytes_max || !there.insert(sentences[i].text).second) continue;
    bytes += size;
    kept.push_back(i);
  }
  std::sort(kept.begin(), kept.end());
  std::string out;
  for (const auto i : kept) out += line_of(i);
  return out;
}

}  // namespace reef::local
