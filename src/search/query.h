// A question as a person or an agent types it. Any text is a query:
//
//   words here      any of them; word forms count too; stop words are left out
//   "two words"     the phrase, exactly; required
//   +word -word     required, excluded; also before phrases
//   foo*            every word that starts with foo; +src/pa* is a phrase with an open last word
//   name:value      a condition, for names that the caller knows; also name:key>2 and -name:value
//
// A query of nothing but exclusions is read as words, unless it has conditions. Text that makes no
// sense as syntax is searched as words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reef::search {

// The most clauses a search looks for, not counting exclusions. Of a longer query it takes the
// required clauses and the rarest words.
inline constexpr std::size_t kClausesMax = 32;
inline constexpr std::size_t kClausesReadMax = 1024;
inline constexpr std::size_t kPhraseWordsMax = 64;

struct Clause {
  enum class Kind : std::uint8_t { word, prefix, phrase };
  enum class Occur : std::uint8_t { optional, required, excluded };
  Kind kind = Kind::word;
  Occur occur = Occur::optional;
  float weight = 1;
  bool forms = true;               // words with the same stem count too, a little less
  bool open = false;               // for a phrase: its last word is a prefix
  std::vector<std::string> terms;  // one; a phrase has several, in order

  bool operator==(const Clause&) const = default;
};

// name:value, name:subject>value
struct Condition {
  std::string name;
  std::string subject;  // empty when there is no comparison
  std::string op;       // ":", "=", "<", "<=", ">", ">="
  std::string value;
  bool negated = false;
  std::size_t begin = 0, end = 0;  // in the text

  bool operator==(const Condition&) const = default;
};

struct Query {
  std::vector<Clause> clauses;  // at most kClausesReadMax
  std::vector<Condition> conditions;
  // With nothing to look for, finds all documents that are not excluded, newest first.
  bool everything = false;
};

// How an exclusion occurs once it is read as words after all.
inline Clause::Occur occur_of_words(Clause::Kind kind) {
  return kind == Clause::Kind::phrase ? Clause::Occur::required : Clause::Occur::optional;
}

struct QueryOptions {
  std::span<const std::string_view> condition_names;
  // Set while the last word is still being typed.
  bool last_word_is_prefix = false;
  // Keeps a query of nothing but exclusions as it is, instead of reading it as words.
  bool exclusions_alone = false;
};

// Never fails.
Query parse_query(std::string_view text, const QueryOptions& options = {});

}  // namespace reef::search
