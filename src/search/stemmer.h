// English word forms: "painted", "paints" and "painting" have one stem, "went" that of "go".
// Applied to the vocabulary, not to the text: the index keeps every form as it was written, and a
// query asks for its relatives.
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

  // Lower-case ASCII words of 2 to 24 letters have stems; nothing else does.
  static bool applies(std::string_view term);
  // Of a term it applies to. Valid until the next call.
  std::string_view stem(std::string_view term);

 private:
  sb_stemmer* stemmer_ = nullptr;
};

// With what the words begin that may have this stem; those that do not have another one.
std::vector<std::string> beginnings_of(std::string_view stem);

// Words that carry no meaning of their own in a question, folded as the tokenizer folds.
bool is_stop_word(std::string_view term);

}  // namespace reef::search
