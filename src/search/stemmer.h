// English word forms: "painted", "paints" and "painting" share a stem, and "went" has that of "go".
// Stemming is applied to the vocabulary, not to the text: the index keeps every form as it was
// written, and a query asks for the forms with the same stem.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sb_stemmer;

namespace reef::search {

// One thread at a time.
class Stemmer {
 public:
  Stemmer();
  ~Stemmer();
  Stemmer(Stemmer&&) noexcept;
  Stemmer& operator=(Stemmer&&) noexcept;

  // Only lower-case ASCII words of 2 to 24 letters have stems.
  static bool applies(std::string_view term);
  // The term must be one that it applies to. The stem is valid until the next call.
  std::string_view stem(std::string_view term);

 private:
  sb_stemmer* stemmer_ = nullptr;
};

// Every word with this stem starts with one of these; words that start otherwise have another stem.
std::vector<std::string> beginnings_of(std::string_view stem);

// Words that carry no meaning of their own in a question, folded as the tokenizer folds.
bool is_stop_word(std::string_view term);

}  // namespace reef::search
