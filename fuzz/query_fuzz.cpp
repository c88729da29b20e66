// Any text is a query, and its snippet of any text must be a piece of that text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/utf8.h"
#include "search/query.h"
#include "search/snippet.h"
#include "search/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reef::search;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto half = all.size() / 2;
  const auto text = all.substr(half);
  constexpr std::string_view names[] = {"role", "label"};
  const auto query = parse_query(all.substr(0, half),
                                 {.condition_names = names, .last_word_is_prefix = size % 2 == 0});
  REEF_ASSERT(query.clauses.size() <= kClausesReadMax);
  for (const auto& clause : query.clauses) {
    REEF_ASSERT(!clause.terms.empty());
    for (const auto& term : clause.terms)
      REEF_ASSERT(!term.empty() && term.size() <= kTermBytesMax);
  }
  for (const auto& condition : query.conditions) REEF_ASSERT(!condition.value.empty());

  Tokenizer tokenizer;
  std::uint32_t position = 0;
  for (const auto& token : tokenizer.tokenize(text)) {
    REEF_ASSERT(token.begin < token.end && token.end <= text.size());
    REEF_ASSERT(token.size > 0 && token.size <= kTermBytesMax);
    REEF_ASSERT(reef::utf8::valid(tokenizer.term(token)));
    REEF_ASSERT(token.position < tokenizer.words());
    if (token.kind != Token::Kind::word) continue;
    REEF_ASSERT(token.position == position);
    ++position;
  }
  const auto snippet = Snippets(query).make(text, size % 100);
  REEF_ASSERT(snippet.text.size() <= size % 100 || snippet.text.size() == text.size());
  REEF_ASSERT(text.substr(snippet.offset, snippet.text.size()) == snippet.text);
  std::uint32_t before = 0;
  for (const auto& [begin, end] : snippet.matches) {
    REEF_ASSERT(begin >= before && begin < end && end <= snippet.text.size());
    before = end;
  }
  return 0;
}
