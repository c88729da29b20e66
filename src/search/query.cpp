#include "search/query.h"

#include <algorithm>
#include <unordered_map>

#include "base/utf8.h"
#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::search {
namespace {

// A longer text, such as a pasted page, is cut here: its words would exceed the clauses anyway.
constexpr std::size_t kQueryBytesMax = 16 * 1024;
// The weight of a part of an identifier or path, next to the whole.
constexpr float kPartWeight = 0.5F;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_one_character(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; }) == 1;
}

using Occur = Clause::Occur;
using Kind = Clause::Kind;

class Parser {
 public:
  Parser(std::string_view text, const QueryOptions& options) : text_(text), options_(options) {}

  Query parse() {
    for (std::size_t i = 0; i < text_.size();) {
      if (is_space(text_[i])) {
        ++i;
        continue;
      }
      item(i);
    }
    finish();
    return std::move(out_);
  }

 private:
  struct Word {
    Clause clause;
    bool stop = false;
  };

  void item(std::size_t& i) {
    auto occur = Occur::optional;
    auto at = i;
    if ((text_[at] == '+' || text_[at] == '-') && at + 1 < text_.size() &&
        !is_space(text_[at + 1]) && text_[at + 1] != '-' && text_[at + 1] != '+') {
      occur = text_[at] == '+' ? Occur::required : Occur::excluded;
      ++at;
    }
    if (text_[at] == '"') {
      const auto close = text_.find('"', at + 1);
      if (close != std::string_view::npos) {
        phrase(text_.substr(at + 1, close - at - 1),
               occur == Occur::optional ? Occur::required : occur, false);
        i = close + 1;
        return;
      }
    }
    auto end = at;
    while (end < text_.size() && !is_space(text_[end])) ++end;
    auto word = text_.substr(at, end - at);
    i = end;
    if (const auto taken = condition(at, occur == Occur::excluded)) {
      i = taken;
      return;
    }
    const bool last = text_.find_first_not_of(" \t\r\n\v\f", end) == std::string_view::npos;
    bool prefix = false;
    while (word.size() > 1 && word.back() == '*') {
      prefix = true;
      word.remove_suffix(1);
    }
    if (options_.last_word_is_prefix && last && end == text_.size()) prefix = true;
    words(word, occur, prefix);
  }

  // Returns the end of name:value at `at` when the caller knows the name; else 0.
  std::size_t condition(std::size_t at, bool negated) {
    for (const auto name : options_.condition_names) {
      const auto colon = at + name.size();
      if (colon >= text_.size() || text_[colon] != ':' ||
          utf8::lower_ascii(text_.substr(at, name.size())) != name)
        continue;
      Condition found{.name = std::string(name), .op = ":", .negated = negated, .begin = at};
      auto from = colon + 1;
      auto end = from;
      while (end < text_.size() && !is_space(text_[end]) && text_[end] != '"') ++end;
      const auto plain = text_.substr(from, end - from);
      if (const auto op = plain.find_first_of("<>="); op != std::string_view::npos && op > 0) {
        const bool two = op + 1 < plain.size() && plain[op + 1] == '=' && plain[op] != '=';
        found.subject = plain.substr(0, op);
        found.op = plain.substr(op, two ? 2 : 1);
        from += op + found.op.size();
      }
      if (end < text_.size() && text_[end] == '"' && end == from) {
        const auto close = text_.find('"', end + 1);
        if (close == std::string_view::npos) return 0;
        found.value = text_.substr(end + 1, close - end - 1);
        end = close + 1;
      } else {
        while (end < text_.size() && !is_space(text_[end])) ++end;
        found.value = text_.substr(from, end - from);
      }
      if (found.value.empty()) return 0;
      found.end = end;
      out_.conditions.push_back(std::move(found));
      return end;
    }
    return 0;
  }

  // True for a run of a single character in a script without spaces; as a prefix it finds the pairs
  // that begin with it. The last character of a longer run is not alone: the index has it by itself
  // only where a run ends.
  static bool is_lone(const Token& token, std::string_view term, const Token* before) {
    return token.pair && is_one_character(term) && !(before && ends_with_it(token, *before));
  }
  static bool ends_with_it(const Token& token, const Token& before) {
    return before.pair && before.end == token.end;
  }

  void phrase(std::string_view text, Occur occur, bool open) {
    Clause clause{.kind = Kind::phrase, .occur = occur, .forms = false, .open = open};
    const Token* before = nullptr;
    bool tail = false;  // the last term is the final character of a run of pairs
    for (const auto& token : tokenizer_.tokenize(text)) {
      if (token.kind != Token::Kind::word || clause.terms.size() == kPhraseWordsMax) continue;
      const auto term = tokenizer_.term(token);
      tail = before && token.pair && is_one_character(term) && ends_with_it(token, *before);
      clause.open = open || is_lone(token, term, before);
      clause.terms.emplace_back(term);
      before = &token;
    }
    if (clause.terms.empty()) return;
    // The pairs before it cover that character already.
    if (tail) clause.terms.pop_back();
    if (clause.terms.size() == 1) clause.kind = clause.open ? Kind::prefix : Kind::word;
    if (clause.kind != Kind::phrase) clause.open = false;
    words_.push_back({std::move(clause), false});
  }

  void words(std::string_view text, Occur occur, bool prefix) {
    const auto& tokens = tokenizer_.tokenize(text);
    if (tokens.empty()) return;
    const auto is_word = [](const Token& token) { return token.kind == Token::Kind::word; };
    // A required or excluded compound is meant as a whole.
    if (occur != Occur::optional && std::count_if(tokens.begin(), tokens.end(), is_word) > 1)
      return phrase(text, occur, prefix);
    const auto last =
        std::max_element(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) {
          return a.end < b.end;
        })->end;
    const Token* before = nullptr;
    for (const auto& token : tokens) {
      if (occur != Occur::optional && !is_word(token)) continue;
      const auto term = tokenizer_.term(token);
      Clause clause{.occur = occur, .terms = {std::string(term)}};
      if (token.kind == Token::Kind::part || token.joined) clause.weight = kPartWeight;
      // Only the last word typed is open; a lone character of a script without spaces always is.
      const bool typed = prefix && token.end == last && token.kind != Token::Kind::part;
      if (typed || is_lone(token, term, before)) clause.kind = Kind::prefix;
      if (occur == Occur::excluded) clause.forms = false;
      const bool stop = occur == Occur::optional && clause.kind == Kind::word &&
                        is_stop_word(clause.terms[0]) && !shouted(text);
      words_.push_back({std::move(clause), stop});
      if (is_word(token)) before = &token;
    }
  }

  // In a query with lower-case letters, IT, US and WHO are names, not stop words.
  bool shouted(std::string_view word) const {
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
    return word.size() > 1 && std::any_of(word.begin(), word.end(), upper) &&
           std::none_of(word.begin(), word.end(), lower) &&
           std::any_of(text_.begin(), text_.end(), lower);
  }

  void finish() {
    const auto positive = [](const Word& word) { return word.clause.occur != Occur::excluded; };
    // With nothing but exclusions there is nothing to look for, so they become words.
    if (out_.conditions.empty() && !options_.exclusions_alone &&
        std::none_of(words_.begin(), words_.end(), positive))
      for (auto& word : words_) word.clause.occur = occur_of_words(word.clause.kind);
    const bool meaning = std::any_of(words_.begin(), words_.end(), [&](const Word& word) {
      return positive(word) && !word.stop;
    });
    std::unordered_map<std::string, std::size_t> places;
    for (auto& [clause, stop] : words_) {
      if (stop && meaning) continue;
      const auto [known, is_new] = places.try_emplace(name_of(clause), out_.clauses.size());
      if (!is_new) {
        auto& weight = out_.clauses[known->second].weight;
        weight = std::max(weight, clause.weight);
        continue;
      }
      if (out_.clauses.size() == kClausesReadMax) break;
      out_.clauses.push_back(std::move(clause));
    }
  }

  // Returns the same name for clauses that mean the same.
  static std::string name_of(const Clause& clause) {
    std::string out{static_cast<char>(clause.kind), static_cast<char>(clause.occur),
                    static_cast<char>(clause.open)};
    for (const auto& term : clause.terms) out.append(term).push_back(' ');
    return out;
  }

  std::string_view text_;
  const QueryOptions& options_;
  Tokenizer tokenizer_;
  std::vector<Word> words_;
  Query out_;
};

}  // namespace

Query parse_query(std::string_view text, const QueryOptions& options) {
  return Parser(utf8::prefix(text, kQueryBytesMax), options).parse();
}

}  // namespace reef::search
