// What a person or an agent asks. Any text is a query:
//
//   words here      any of them; word forms count too; words without meaning are left out
//   "two words"     the phrase, exactly; required
//   +word -word     required, excluded; also before phrases
//   foo*            everything that begins so; +src/pa* is the phrase whose last word does
//   name:value      for the caller, where it knows the name; also name:key>2 and -name:value
//
// Of nothing but exclusions words are made, unless there are conditions.
// What does not make sense as syntax is searched as words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reef::search {

// What a search looks for, exclusions not counted; of a longer query, what must be there and the
// rarest words.
inline constexpr std::size_t kClausesMax = 32;
inline constexpr std::size_t kClausesReadMax = 1024;
inline constexpr std::size_t kPhraseWordsMax = 64;

struct Clause {
  enum class Kind : std::uint8_t { word, prefix, phrase };
  enum class Occur : std::uint8_t { optional, required, excluded };
  Kind kind = Kind::word;
  Occur occur = Occur::optional;
  float weight = 1;
  bool forms = true;               // relatives with the same stem count, a little less
  bool open = false;               // of a phrase: its last word may go on
  std::vector<std::string> terms;  // one; a phrase has several, in order

  bool operator==(const Clause&) const = default;
};

// name:value, name:subject>value
struct Condition {
  std::string name;
  std::string subject;  // empty without a comparison
  std::string op;       // ":", "=", "<", "<=", ">", ">="
  std::string value;
  bool negated = false;
  std::size_t begin = 0, end = 0;  // where it stands in the text

  bool operator==(const Condition&) const = default;
};

struct Query {
  std::vector<Clause> clauses;  // at most kClausesReadMax
  std::vector<Condition> conditions;
  // Where nothing is looked for, everything is found that is not excluded, the newest first.
  bool everything = false;
};

// Of exclusions that become words after all.
inline Clause::Occur occur_of_words(Clause::Kind kind) {
  return kind == Clause::Kind::phrase ? Clause::Occur::required : Clause::Occur::optional;
}

struct QueryOptions {
  std::span<const std::string_view> condition_names;
  // The last word is still being typed.
  bool last_word_is_prefix = false;
  // Nothing but exclusions stays that; else they become words.
  bool exclusions_alone = false;
};

// Never fails.
Query parse_query(std::string_view text, const QueryOptions& options = {});

}  // namespace reef::search
