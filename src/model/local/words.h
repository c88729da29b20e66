// The words of a text as search sees them: folded, stemmed, without those that say nothing. Not
// thread safe; cheap to make.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::model {

// `head` without the character, letter and signs, that goes on in `rest`, which stands right behind
// it; all of it when it is nothing else. A consonant without its vowel sign is another syllable.
std::string_view without_half(std::string_view head, std::string_view rest);
// utf8::prefix_chars that cuts no such character.
std::string_view prefix_letters(std::string_view text, std::size_t chars_max);

class Words {
 public:
  struct Place {
    std::string stem;
    std::string_view text;  // as it was written, in the text that was given
    bool empty = false;     // says nothing of its own
    bool pair = false;      // of a script without spaces: this character and the next
  };
  // In order; identifiers count once, as a whole or by part as they were written.
  std::vector<Place> places(std::string_view text);
  std::set<std::string> of(std::string_view text);
  // Those a question is about, without what people say around it ("can you tell me again"); all of
  // them when there are no others.
  std::set<std::string> telling(std::string_view text);
  // Those of `wanted` the text has.
  std::set<std::string> shared(const std::set<std::string>& wanted, std::string_view text);
  bool has_all(const std::set<std::string>& wanted, std::string_view text);

 private:
  search::Tokenizer tokenizer_;
  search::Stemmer stemmer_;
};

}  // namespace reef::model
