// Splits a text into words as the search does: folded, stemmed, with stop words marked. Not thread
// safe; cheap to make.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::local {

// Returns `head` without its last character (a letter and its signs) if that goes on in `rest`,
// which follows it directly; all of `head` if it has no other. A consonant without its vowel sign
// is another syllable.
std::string_view without_half(std::string_view head, std::string_view rest);
// Like utf8::prefix_chars, but never cuts such a character.
std::string_view prefix_letters(std::string_view text, std::size_t chars_max);

class Words {
 public:
  struct Place {
    std::string stem;
    std::string_view text;  // as written, pointing into the text
    bool empty = false;     // a stop word
    bool pair = false;      // in a script without spaces: this character and the next
  };
  // In order; an identifier counts once, either whole or by parts, as it was written.
  std::vector<Place> places(std::string_view text);
  std::set<std::string> of(std::string_view text);
  // Returns the words that a question is about, without phrases around them ("can you tell me
  // again"); all words if there are no others.
  std::set<std::string> telling(std::string_view text);
  // Returns those of `wanted` that the text has.
  std::set<std::string> shared(const std::set<std::string>& wanted, std::string_view text);
  bool has_all(const std::set<std::string>& wanted, std::string_view text);

 private:
  search::Tokenizer tokenizer_;
  search::Stemmer stemmer_;
};

}  // namespace reef::local
