// Makes titles: the run of the user's words that says most.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "base/utf8.h"
#include "local/extract.h"
#include "local/words.h"

namespace reef::local {
namespace {

// The most that is used of one message, because a pasted file is not the topic of a conversation.
constexpr std::size_t kTitleLookBytesMax = 16U << 10;
constexpr std::size_t kTitleWordsMin = 3;
constexpr std::size_t kTitleWordsMax = 6;
// Two characters of a script without spaces say about as much as one word.
constexpr std::size_t kCharsPerWord = 2;
constexpr std::size_t kTitleCharsWished = 60;
constexpr std::size_t kTitleBytesMax = 120;
// The worth of a stop word; it makes the longer of two titles win when both have nothing else.
constexpr double kEmptyWorth = 0.05;

constexpr std::string_view kSpace = " \t\r\n";
// Marks around words; an address or a path may begin with other characters.
constexpr std::string_view kMarksBefore = "\"'`([{<*,;:!?|>";
constexpr std::string_view kMarksBehind = "\"'`([{<*)]}>.,;:!?|";
constexpr std::array<std::string_view, 20> kWideMarks = {"“",  "”",  "‘",  "’",  "«",  "»",  "„",
                                                         "…",  "¿",  "¡",  "–",  "—",  "，", "。",
                                                         "、", "！", "？", "：", "；", "「"};
constexpr std::string_view kSentenceEnds = ".!?;:\n\"()";
constexpr std::array<std::string_view, 6> kWideSentenceEnds = {"。", "！", "？", "；", "：", "…"};

// A word in a title: the text between blanks or, in a script without spaces, between marks, and
// then no more than fits a title.
struct Unit {
  std::string_view text;           // without the marks around it
  std::vector<std::string> stems;  // without stop words
  std::size_t words = 1;           // how many words it counts for
  std::size_t chars = 0;           // in a script without spaces; any other run counts as two
  bool pairs = false;              // has such characters
  bool cut = false;                // the text was longer
  bool ends_sentence = false;
};

std::string_view between(std::string_view a, std::string_view b) {
  const auto* const from = a.data() + a.size();
  return from < b.data() ? std::string_view(from, static_cast<std::size_t>(b.data() - from))
                         : std::string_view();
}

bool has_blank(std::string_view text) {
  return text.find_first_of(kSpace) != std::string_view::npos;
}

bool has_stop(std::string_view gap) {
  return gap.find_first_of(kSentenceEnds) != std::string_view::npos ||
         std::any_of(
             kWideSentenceEnds.begin(), kWideSentenceEnds.end(),
             [&](std::string_view stop) { return gap.find(stop) != std::string_view::npos; });
}

std::string_view without_marks(std::string_view chunk) {
  const auto strip = [&](auto is_there, auto remove) {
    return std::any_of(kWideMarks.begin(), kWideMarks.end(), [&](std::string_view mark) {
      if (!is_there(mark)) return false;
      remove(mark.size());
      return true;
    });
  };
  for (bool more = true; more && !chunk.empty();) {
    more = strip([&](auto mark) { return chunk.starts_with(mark); },
                 [&](auto size) { chunk.remove_prefix(size); });
    if (!more && !chunk.empty() && kMarksBefore.find(chunk.front()) != std::string_view::npos) {
      chunk.remove_prefix(1);
      more = true;
    }
  }
  for (bool more = true; more && !chunk.empty();) {
    more = strip([&](auto mark) { return chunk.ends_with(mark); },
                 [&](auto size) { chunk.remove_suffix(size); });
    if (!more && !chunk.empty() && kMarksBehind.find(chunk.back()) != std::string_view::npos) {
      chunk.remove_suffix(1);
      more = true;
    }
  }
  return chunk;
}

// Returns `word` with everything attached to it, between `from` and `to`. All views are into
// `text`.
std::string_view chunk_around(std::string_view text, std::string_view word, std::size_t from,
                              std::size_t to) {
  const auto at = static_cast<std::size_t>(word.data() - text.data());
  const auto before = at == 0 ? std::string_view::npos : text.find_last_of(kSpace, at - 1);
  const auto begin = before == std::string_view::npos ? from : std::max(from, before + 1);
  const auto end = std::min(text.find_first_of(kSpace, at + word.size()), to);
  return text.substr(begin, end - begin);
}

// Returns the part of a place that no other has: a pair shares its second character with the next
// one.
std::string_view own_text(const Words::Place& place) {
  return place.pair ? utf8::prefix_chars(place.text, 1) : place.text;
}

void extend(Unit& unit, const Words::Place& place) {
  const auto own = own_text(place);
  const auto chars = place.pair ? 1 : kCharsPerWord;
  if (unit.cut) return;
  unit.cut = unit.pairs && unit.chars + chars > kTitleWordsMax * kCharsPerWord;
  if (unit.cut) {
    unit.text = without_half(unit.text, own);
    return;
  }
  unit.chars += chars;
  unit.pairs = unit.pairs || place.pair;
  if (!place.empty) unit.stems.push_back(place.stem);
  unit.text =
      unit.text.empty()
          ? own
          : std::string_view(unit.text.data(),
                             static_cast<std::size_t>(own.data() + own.size() - unit.text.data()));
}

std::vector<Unit> units_of(std::string_view text, Words& words) {
  std::vector<Unit> out;
  std::string_view last;  // own text of the previous place
  bool last_pair = false;
  for (const auto& place : words.places(text)) {
    const auto own = own_text(place);
    const auto gap = last.empty() ? std::string_view() : between(last, own);
    const bool same = !out.empty() && !has_blank(gap) &&
                      (gap.empty() || (!place.pair && !last_pair && !out.back().pairs));
    if (!same) {
      if (!out.empty()) out.back().ends_sentence = has_stop(gap);
      out.emplace_back();
    }
    extend(out.back(), place);
    last = own;
    last_pair = place.pair;
  }
  std::size_t free_from = 0;  // the end of the previous unit
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto& unit = out[i];
    const auto end_of = [&] {
      return static_cast<std::size_t>(unit.text.data() + unit.text.size() - text.data());
    };
    const auto free_to = i + 1 == out.size()
                             ? text.size()
                             : static_cast<std::size_t>(out[i + 1].text.data() - text.data());
    if (unit.cut)
      unit.words = kTitleWordsMax;  // so that nothing follows it
    else if (unit.pairs)
      unit.words = std::max<std::size_t>(1, unit.chars / kCharsPerWord);
    else if (const auto whole = without_marks(chunk_around(text, unit.text, free_from, free_to));
             whole.size() > unit.text.size())
      unit.text = whole;  // for example "/etc/hosts", "--verbose", "c++"
    free_from = end_of();
  }
  if (!out.empty()) out.back().ends_sentence = true;
  return out;
}

// Returns the text as written, without marks around words and with single spaces between them.
std::string written(std::span<const Unit> units) {
  std::string out;
  for (std::size_t i = 0; i < units.size(); ++i) {
    out += units[i].text;
    if (i + 1 == units.size()) break;
    const auto gap = between(units[i].text, units[i + 1].text);
    if (!has_blank(gap)) {
      out += gap;
      continue;
    }
    constexpr std::string_view kShown = ".,;:!?";
    if (!gap.empty() && kShown.find(gap.front()) != std::string_view::npos) out += gap.front();
    out += ' ';
  }
  return out;
}

class Titles {
 public:
  explicit Titles(const std::map<std::string, double>& worth) : worth_(worth) {}

  // Looks for a better title in a text that counts `share` times as much as the first message.
  void look(std::span<const Unit> units, double share) {
    std::size_t all = 0;
    for (const auto& unit : units) all += unit.words;
    for (std::size_t i = 0; i < units.size(); ++i) {
      std::size_t length = 0;
      for (auto j = i; j < units.size(); ++j) {
        length += units[j].words;
        if (length > kTitleWordsMax) break;
        if (length < std::min(kTitleWordsMin, all)) continue;
        const bool starts = i == 0 || units[i - 1].ends_sentence;
        offer(units.subspan(i, j + 1 - i), length, starts, share);
      }
    }
  }

  const std::string& best() const { return best_; }

 private:
  void offer(std::span<const Unit> run, std::size_t length, bool starts, double share) {
    auto score = share * worth_of(run) / std::sqrt(double(std::max(length, kTitleWordsMin)));
    // If possible, a title should not continue beyond the end of a sentence, nor begin or end with
    // stop words.
    for (const auto& unit : run.first(run.size() - 1)) score *= unit.ends_sentence ? 0.5 : 1;
    if (run.front().stems.empty()) score *= starts ? 0.9 : 0.6;
    if (run.back().stems.empty()) score *= run.back().ends_sentence ? 0.9 : 0.6;
    const bool full = length >= kTitleWordsMin;
    if (full < full_ || (full == full_ && score <= score_)) return;
    auto title = written(run);
    if (utf8::prefix_chars(title, kTitleCharsWished).size() < title.size()) score *= 0.3;
    if (full == full_ && score <= score_) return;
    full_ = full;
    score_ = score;
    best_ = std::move(title);
    // A name keeps its spelling.
    const bool plain = std::all_of(run[0].text.begin(), run[0].text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || c == '\'' || static_cast<unsigned char>(c) >= 0x80;
    });
    if (plain && best_[0] >= 'a' && best_[0] <= 'z')
      best_[0] = static_cast<char>(best_[0] - 'a' + 'A');
  }

  double worth_of(std::span<const Unit> run) const {
    double sum = 0;
    std::set<std::string_view> counted;
    for (const auto& unit : run) {
      if (unit.stems.empty()) sum += kEmptyWorth;
      double in_unit = 0;
      for (const auto& stem : unit.stems)
        if (counted.insert(stem).second) in_unit += std::log1p(worth_.at(stem));
      sum += unit.pairs ? in_unit / kCharsPerWord : in_unit;
    }
    return sum;
  }

  const std::map<std::string, double>& worth_;
  std::string best_;
  double score_ = -1;
  bool full_ = false;
};

}  // namespace

std::string title_of(const std::vector<session::MessagePtr>& messages) {
  Words words;
  std::map<std::string, double> worth;
  std::vector<std::string> texts;  // the user's texts, oldest first
  double share = 1;
  for (const auto& message : messages) {
    if (!std::holds_alternative<session::UserMessage>(*message) || session::is_hidden(*message))
      continue;
    texts.emplace_back(utf8::prefix(session::text_of(*message), kTitleLookBytesMax));
    for (const auto& place : words.places(texts.back()))
      if (!place.empty) worth[place.stem] += share;
    share *= 0.7;
  }
  Titles titles(worth);
  share = 1;
  for (const auto& text : texts) {
    titles.look(units_of(text, words), share);
    share *= 0.5;
  }
  auto title = titles.best();
  if (title.empty() && !texts.empty())
    title = prefix_letters(utf8::single_line(texts.front()), kTitleCharsWished);
  const auto line = utf8::single_line(utf8::printable(title));
  const auto head = utf8::prefix(line, kTitleBytesMax);
  return std::string(without_half(head, std::string_view(line).substr(head.size())));
}

}  // namespace reef::local
