#include "context/facts.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::context {
namespace {

constexpr std::size_t kLineBytesMax = 400;
constexpr std::size_t kFactsMax = 400;
// The share of its ordinary words (no numbers, paths or names) that a fact must have in common with
// a summary.
constexpr double kShareMin = 0.7;

// How people begin a statement that is meant to last. Matched at word boundaries, in lower case.
constexpr std::array<std::string_view, 27> kLasting = {
    "always",       "never",      "must",      "must not",    "do not",     "don't",     "remember",
    "keep in mind", "note that",  "important", "from now on", "prefer",     "make sure", "rule:",
    "my name is",   "call me",    "i am a",    "i work",      "we decided", "we use",    "deadline",
    "is called",    "instead of", "only use",  "use only",    "immer",      "niemals"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80U;
}

bool has_phrase(std::string_view text, std::string_view phrase) {
  for (auto at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
    const bool before = at == 0 || !is_word(text[at - 1]);
    const auto end = at + phrase.size();
    const bool after = end == text.size() || !is_word(text[end]) || !is_word(phrase.back());
    if (before && after) return true;
  }
  return false;
}

bool is_lasting(std::string_view sentence) {
  const auto lower = utf8::lower_ascii(sentence);
  return std::any_of(kLasting.begin(), kLasting.end(),
                     [&](std::string_view phrase) { return has_phrase(lower, phrase); });
}

template <class Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// A sentence ends at a full stop that a space follows.
template <class Take>
void each_sentence(std::string_view line, Take take) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool stop = line[i] == '.' || line[i] == '!' || line[i] == '?';
    if (!stop || (i + 1 < line.size() && line[i + 1] != ' ')) continue;
    take(line.substr(begin, i + 1 - begin));
    begin = i + 1;
  }
  take(line.substr(begin));
}

std::string line_of(std::string_view text) {
  return std::string(utf8::prefix(utf8::single_line(text), kLineBytesMax));
}

struct Task {
  std::string text;
  bool done = false;
};
// "- [ ] write the test", "* [x] ...", "TODO: ...".
std::optional<Task> task_of(std::string_view line) {
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start);
  const bool bullet = line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ");
  const auto box = bullet ? line.substr(2) : std::string_view();
  if (box.starts_with("[ ] ")) return Task{line_of(box.substr(4)), false};
  if (box.starts_with("[x] ") || box.starts_with("[X] ")) return Task{line_of(box.substr(4)), true};
  for (const std::string_view mark : {"TODO:", "TODO ", "FIXME:", "FIXME "}) {
    const auto& from = bullet ? box : line;
    if (from.starts_with(mark)) return Task{line_of(from.substr(mark.size())), false};
  }
  return std::nullopt;
}

struct Words {
  std::set<std::string> hard, soft;
};
// A hard word has a digit, a capital after its first letter, or a sign of a path or name inside.
Words words_of(std::string_view text) {
  Words out;
  constexpr std::string_view kInside = "_-./:@#";
  std::size_t i = 0;
  while (i < text.size()) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    auto end = i;
    while (end < text.size() &&
           (is_word(text[end]) || (kInside.find(text[end]) != std::string_view::npos &&
                                   end + 1 < text.size() && is_word(text[end + 1]))))
      ++end;
    const auto word = text.substr(i, end - i);
    i = end;
    const bool hard =
        word.find_first_of("0123456789_./:@#") != std::string_view::npos ||
        std::any_of(word.begin() + 1, word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    auto lower = utf8::lower_ascii(word);
    if (hard) {
      out.hard.insert(std::move(lower));
    } else if (word.size() >= 4 || static_cast<unsigned char>(word.front()) >= 0x80U) {
      out.soft.insert(std::move(lower));
    }
  }
  return out;
}

std::string_view name_of(Fact::Kind kind) {
  switch (kind) {
    case Fact::Kind::task:
      return "task";
    case Fact::Kind::file:
      return "changed file";
    case Fact::Kind::rule:
      break;
  }
  return "user";
}

std::string line_for(const Fact& fact) {
  return fmt::format("- {}: {}\n", name_of(fact.kind), fact.text);
}

}  // namespace

std::vector<Fact> find_facts(const std::vector<session::MessagePtr>& messages, const Files& files,
                             std::vector<Fact> known_before) {
  auto out = std::move(known_before);
  const auto known = [&](Fact::Kind kind, std::string_view text) {
    return std::find_if(out.begin(), out.end(),
                        [&](const Fact& fact) { return fact.kind == kind && fact.text == text; });
  };
  const auto add = [&](Fact::Kind kind, std::string text) {
    if (!text.empty() && out.size() < kFactsMax && known(kind, text) == out.end())
      out.push_back(Fact{kind, std::move(text)});
  };
  for (const auto& message : messages) {
    if (session::is_hidden(*message)) continue;
    const bool user = std::holds_alternative<session::UserMessage>(*message);
    if (!user && !std::holds_alternative<session::AssistantMessage>(*message)) continue;
    each_line(session::text_of(*message), [&](std::string_view line) {
      if (auto task = task_of(line)) {
        if (!task->done) return add(Fact::Kind::task, std::move(task->text));
        const auto done = known(Fact::Kind::task, task->text);
        if (done != out.end()) out.erase(done);
        return;
      }
      if (!user) return;
      each_sentence(line, [&](std::string_view sentence) {
        if (is_lasting(sentence)) add(Fact::Kind::rule, line_of(sentence));
      });
    });
  }
  for (const auto& path : files.changed()) add(Fact::Kind::file, line_of(path));
  return out;
}

bool says(std::string_view summary, const Fact& fact) {
  if (summary.find(fact.text) != std::string_view::npos) return true;
  if (fact.kind == Fact::Kind::file) return false;
  const auto wanted = words_of(fact.text);
  const auto there = words_of(summary);
  const auto has = [&](const std::string& word) {
    return there.hard.contains(word) || there.soft.contains(word);
  };
  if (!std::all_of(wanted.hard.begin(), wanted.hard.end(), has)) return false;
  if (wanted.soft.empty()) return !wanted.hard.empty();
  const auto shared = std::count_if(wanted.soft.begin(), wanted.soft.end(), has);
  return static_cast<double>(shared) >= kShareMin * static_cast<double>(wanted.soft.size());
}

std::string with_missing(std::string summary, const std::vector<Fact>& facts,
                         std::size_t bytes_max) {
  std::vector<const Fact*> missing;
  for (const auto& fact : facts)
    if (!says(summary, fact)) missing.push_back(&fact);
  auto wanted = missing;
  const auto rest = std::stable_partition(wanted.begin(), wanted.end(), [](const Fact* fact) {
    return fact->kind == Fact::Kind::rule;
  });
  std::reverse(rest, wanted.end());

  std::set<const Fact*> chosen;
  std::size_t bytes = kFactsHeading.size() + 4;
  for (const auto* fact : wanted) {
    const auto size = line_for(*fact).size();
    if (bytes + size > bytes_max) continue;
    bytes += size;
    chosen.insert(fact);
  }
  if (chosen.empty()) return summary;
  while (!summary.empty() && summary.back() == '\n') summary.pop_back();
  summary += fmt::format("\n\n{}\n", kFactsHeading);
  for (const auto* fact : missing)
    if (chosen.contains(fact)) summary += line_for(*fact);
  return summary;
}

json::array to_json(const std::vector<Fact>& facts) {
  json::array out;
  for (const auto& fact : facts)
    out.push_back(json::object{{"kind", name_of(fact.kind)}, {"text", fact.text}});
  return out;
}

std::vector<Fact> facts_from_json(const json::array& in) {
  std::vector<Fact> out;
  for (const auto& value : in) {
    const auto* object = value.if_object();
    const auto text = object ? json::find_string(*object, "text") : std::nullopt;
    if (!text || text->empty() || out.size() == kFactsMax) continue;
    const auto named = json::find_string(*object, "kind").value_or("");
    for (const auto kind : {Fact::Kind::task, Fact::Kind::file, Fact::Kind::rule})
      if (named == name_of(kind)) out.push_back(Fact{kind, line_of(*text)});
  }
  return out;
}

}  // namespace reef::context
