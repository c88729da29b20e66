#include "search/query.h"

#include <algorithm>

#include "base/utf8.h"
#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::search {
namespace {

// A pasted page is cut here: no more words than fit the clauses are looked for anyway.
constexpr std::size_t kQueryBytesMax = 16 * 1024;
// Parts of an identifier or path, beside the whole of it.
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
               occur == Occur::optional ? Occur::required : occur);
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

  // The end of name:value at `at` when the caller knows the name; 0 when it is none.
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

  void phrase(std::string_view text, Occur occur) {
    Clause clause{.kind = Kind::phrase, .occur = occur, .forms = false};
    bool open = false;  // the last term is one character of a script without spaces
    for (const auto& token : tokenizer_.tokenize(text)) {
      if (token.kind != Token::Kind::word || clause.terms.size() == kPhraseWordsMax) continue;
      clause.terms.emplace_back(tokenizer_.term(token));
      open = token.pair && is_one_character(clause.terms.back());
    }
    if (clause.terms.empty()) return;
    // There it stands by itself only where the text ends, too: the pairs before it say enough.
    const bool alone = clause.terms.size() == 1;
    if (open && !alone) clause.terms.pop_back();
    if (clause.terms.size() == 1) clause.kind = open && alone ? Kind::prefix : Kind::word;
    words_.push_back({std::move(clause), false});
  }

  void words(std::string_view text, Occur occur, bool prefix) {
    const auto& tokens = tokenizer_.tokenize(text);
    if (tokens.empty()) return;
    const auto plain = std::count_if(tokens.begin(), tokens.end(), [](const Token& token) {
      return token.kind == Token::Kind::word;
    });
    // Required and excluded ones are meant as a whole.
    if (occur != Occur::optional && plain > 1 && !prefix) return phrase(text, occur);
    const auto last = tokens.back().position;
    for (const auto& token : tokens) {
      if (occur != Occur::optional && token.kind != Token::Kind::word) continue;
      Clause clause{.occur = occur, .terms = {std::string(tokenizer_.term(token))}};
      if (token.kind == Token::Kind::part || token.joined) clause.weight = kPartWeight;
      // Only the end of what is typed is open; one character of a script without spaces always is.
      const bool single = token.pair && token.position == last && plain == 1;
      if ((prefix && token.position == last && token.kind == Token::Kind::word) || single)
        clause.kind = Kind::prefix;
      if (occur == Occur::excluded) clause.forms = false;
      const bool stop = occur == Occur::optional && clause.kind == Kind::word &&
                        is_stop_word(clause.terms[0]) && !shouted(text);
      words_.push_back({std::move(clause), stop});
    }
  }

  // IT, US, WHO among words in lower case are names.
  bool shouted(std::string_view word) const {
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
    return word.size() > 1 && std::any_of(word.begin(), word.end(), upper) &&
           std::none_of(word.begin(), word.end(), lower) &&
           std::any_of(text_.begin(), text_.end(), lower);
  }

  void finish() {
    const auto positive = [](const Word& word) { return word.clause.occur != Occur::excluded; };
    // Nothing but exclusions says what is looked for only if they are words after all.
    if (out_.conditions.empty() && std::none_of(words_.begin(), words_.end(), positive))
      for (auto& word : words_) word.clause.occur = Occur::optional;
    const bool meaning = std::any_of(words_.begin(), words_.end(), [&](const Word& word) {
      return positive(word) && !word.stop;
    });
    for (auto& [clause, stop] : words_) {
      if (stop && meaning) continue;
      const auto same = std::find_if(
          out_.clauses.begin(), out_.clauses.end(), [&clause = clause](const Clause& other) {
            return other.kind == clause.kind && other.occur == clause.occur &&
                   other.terms == clause.terms;
          });
      if (same != out_.clauses.end()) {
        same->weight = std::max(same->weight, clause.weight);
        continue;
      }
      if (out_.clauses.size() < kClausesReadMax) out_.clauses.push_back(std::move(clause));
    }
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
