#include "model/local/words.h"

#include <algorithm>

namespace reef::model {

std::vector<Words::Place> Words::places(std::string_view text) {
  std::vector<Place> out;
  for (const auto& token : tokenizer_.tokenize(text)) {
    if (token.kind != search::Token::Kind::word) continue;
    auto term = tokenizer_.term(token);
    Place place{{}, text.substr(token.begin, token.end - token.begin), search::is_stop_word(term)};
    if (search::Stemmer::applies(term)) term = stemmer_.stem(term);
    place.stem = std::string(term);
    out.push_back(std::move(place));
  }
  return out;
}

std::set<std::string> Words::of(std::string_view text) {
  std::set<std::string> out;
  for (auto& place : places(text))
    if (!place.empty) out.insert(std::move(place.stem));
  return out;
}

std::size_t Words::shared(const std::set<std::string>& wanted, std::string_view text) {
  const auto has = of(text);
  return static_cast<std::size_t>(
      std::count_if(wanted.begin(), wanted.end(), [&](const auto& w) { return has.contains(w); }));
}

}  // namespace reef::model
