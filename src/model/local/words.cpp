#include "model/local/words.h"

#include <algorithm>

namespace reef::model {
namespace {

// They are in a question whatever it is about. Search keeps them: there they may be looked for.
constexpr std::string_view kAround =
    "again ever already still also anyway maybe perhaps possibly probably actually really exactly "
    "precisely currently previously earlier before ago now once somehow else even only quickly "
    "tell told say said saying know knew known remember remind recall mention talk speak spoke "
    "discuss ask asked wonder wondering think thought guess believe suppose happen mean forget "
    "forgot put look find give get got let see show want like need help "
    "something anything everything nothing someone anyone somewhere anywhere thing things stuff "
    "kind sort way bit lot much many more most one ones idea clue question answer "
    "sure well okay ok oh um hey hi hello thanks thank sorry "
    "什么 怎么 为什么 哪里 哪个 多少 请问 告诉我 知道 我的 你的 ですか どこ いつ 教えて ください";

}  // namespace

std::vector<Words::Place> Words::places(std::string_view text) {
  std::vector<Place> out;
  for (const auto& token : tokenizer_.tokenize(text)) {
    if (token.kind != search::Token::Kind::word) continue;
    auto term = tokenizer_.term(token);
    Place place{{},
                text.substr(token.begin, token.end - token.begin),
                search::is_stop_word(term),
                token.pair};
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

std::set<std::string> Words::telling(std::string_view text) {
  static const auto around = Words().of(kAround);
  const auto all = of(text);
  auto out = all;
  std::erase_if(out, [](const auto& stem) { return around.contains(stem); });
  return out.empty() ? all : out;
}

std::set<std::string> Words::shared(const std::set<std::string>& wanted, std::string_view text) {
  auto out = of(text);
  std::erase_if(out, [&](const auto& stem) { return !wanted.contains(stem); });
  return out;
}

bool Words::has_all(const std::set<std::string>& wanted, std::string_view text) {
  const auto has = of(text);
  return std::includes(has.begin(), has.end(), wanted.begin(), wanted.end());
}

}  // namespace reef::model
