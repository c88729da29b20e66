// Turns text into terms, the same way for documents and for queries. It belongs to one indexer or
// search and is used by one thread at a time; it keeps its buffers from call to call.
//
//   fooBar_baz       -> foobar_baz, foo, bar, baz            an identifier, whole and by part
//   src/io/bar.cpp   -> src, io, bar, cpp, bar.cpp, src/io/bar.cpp
//   1.2.3, reef-bench, std::vector, a@b.org                   likewise
//   python3, E0425   -> python3, python, 3; e0425, 0425       a name and its number, a code
//   Café, Łódź, ＡＢＣ -> cafe, lodz, abc                        case, width and accents folded
//   東京都            -> 東京, 京都, 都                         scripts without spaces: pairs
//   Anna's, don't    -> anna, dont
//
// Every run of letters, digits and underscores takes one position. Terms derived from a run share
// its position, so phrases match the runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reef::search {

// Longer runs are cut to this length; longer compounds are indexed by their parts only.
inline constexpr std::size_t kTermBytesMax = 64;
// The most words that one call reads; stopped() says where it ended.
inline constexpr std::uint32_t kWordsMax = 65'000;

struct Token {
  enum class Kind : std::uint8_t {
    word,   // a run, or a pair in a script without spaces; has its own position
    part,   // a part of the identifier at this position
    whole,  // several runs joined; begins at this position
  };
  std::uint32_t at = 0;     // into the tokenizer's bytes
  std::uint32_t begin = 0;  // in the text
  std::uint32_t end = 0;
  std::uint32_t position = 0;
  std::uint16_t size = 0;
  Kind kind = Kind::word;
  bool joined = false;  // a word or part inside a compound that is also a term
  bool pair = false;    // in a script without spaces; also set for the last character of a run
};

// Compounds have no positions: a phrase is made of words.
inline bool has_positions(std::string_view term) {
  return term.find_first_of("./-@:+#") == std::string_view::npos;
}

class Tokenizer {
 public:
  // The tokens, and what `term` returns for them, are valid until the next call.
  const std::vector<Token>& tokenize(std::string_view text);
  std::string_view term(const Token& token) const { return {bytes_.data() + token.at, token.size}; }
  // The number of positions that the last text used.
  std::uint32_t words() const { return words_; }
  // How many bytes of the last text were read: all, unless it has more than kWordsMax words.
  std::size_t stopped() const { return stopped_; }

 private:
  struct Run {
    std::uint32_t at = 0;
    std::uint32_t size = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool bare = false;  // the letters before the first cut are not a word by themselves
  };

  void scan_pairs(std::string_view text, std::size_t& i);
  void scan_compound(std::string_view text, std::size_t& i);
  bool scan_run(std::string_view text, std::size_t& i, Run& run);
  void emit_run(const Run& run, bool joined);
  void emit(Token::Kind kind, std::uint32_t at, std::size_t size, std::uint32_t begin,
            std::uint32_t end, std::uint32_t position, bool joined);

  std::string bytes_;
  std::vector<Token> tokens_;
  std::vector<std::uint32_t> cuts_;   // where the parts of the current run begin
  std::vector<Token> compound_runs_;  // scratch of scan_compound
  std::uint32_t words_ = 0;
  std::size_t stopped_ = 0;
};

}  // namespace reef::search
