#include "local/words.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace reef::local {
namespace {

// Words found in questions about anything. The search keeps them, since people may look for them
// there.
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

struct Range {
  std::uint32_t low, high;
};
template <std::size_t N>
bool is_in(std::uint32_t c, const std::array<Range, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return c >= range.low && c <= range.high; });
}

// Characters written onto the one before: accents, vowel signs, tones, finals.
constexpr std::array<Range, 37> kSigns = {{
    {0x0300, 0x036F},   {0x0483, 0x0489}, {0x0591, 0x05C7}, {0x0610, 0x061A},
    {0x064B, 0x065F},   {0x0670, 0x0670}, {0x06D6, 0x06DC}, {0x0A70, 0x0A71},
    {0x0D81, 0x0D83},   {0x0DCA, 0x0DDF},                    // Sinhala
    {0x0E30, 0x0E3A},   {0x0E45, 0x0E4E},                    // Thai
    {0x0EB0, 0x0EBC},   {0x0EC6, 0x0ECE},                    // Lao
    {0x0F71, 0x0F84},   {0x0F8D, 0x0FBC},                    // Tibetan
    {0x102B, 0x103E},   {0x1056, 0x1059}, {0x105E, 0x1060},  // Myanmar
    {0x1062, 0x1064},   {0x1067, 0x106D}, {0x1071, 0x1074},  //
    {0x1082, 0x108D},   {0x109A, 0x109D},                    //
    {0x1160, 0x11FF},                                        // Hangul in parts
    {0x17B4, 0x17D3},   {0x17DD, 0x17DD},                    // Khmer
    {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF},  //
    {0x302A, 0x302F},   {0x3099, 0x309A}, {0xFF9E, 0xFF9F},  // kana
    {0x200D, 0x200D},   {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},  //
    {0x1F3FB, 0x1F3FF},                                      // skin
}};
// The nine blocks of India's scripts, which are laid out alike.
constexpr Range kIndic = {0x0900, 0x0D7F};
constexpr std::array<Range, 5> kIndicSigns = {
    {{0x00, 0x03}, {0x3A, 0x3C}, {0x3E, 0x4D}, {0x51, 0x57}, {0x62, 0x63}}};
constexpr std::uint32_t kIndicStacker = 0x4D;
// Characters that belong to the one after: vowels of Thai and Lao that are written first, and signs
// that stack or join two characters.
constexpr std::array<Range, 5> kBefore = {
    {{0x0E40, 0x0E44}, {0x0EC0, 0x0EC4}, {0x1039, 0x1039}, {0x17D2, 0x17D2}, {0x200D, 0x200D}}};

bool is_indic(std::uint32_t c) {
  return c >= kIndic.low && c <= kIndic.high;
}
bool is_sign(std::uint32_t c) {
  return is_in(c, kSigns) || (is_indic(c) && is_in(c & 0x7F, kIndicSigns));
}
bool belongs_to_next(std::uint32_t c) {
  return is_in(c, kBefore) || (is_indic(c) && (c & 0x7F) == kIndicStacker);
}

// Returns the first character of a valid text; 0 when it is empty.
std::uint32_t first_char(std::string_view text) {
  const auto bytes = utf8::prefix_chars(text, 1);
  if (bytes.empty()) return 0;
  const auto lead = static_cast<std::uint8_t>(bytes[0]);
  std::uint32_t c = bytes.size() == 1 ? lead : lead & (0x7FU >> bytes.size());
  for (const char next : bytes.substr(1)) c = c << 6 | (static_cast<std::uint8_t>(next) & 0x3FU);
  return c;
}

std::size_t last_char_at(std::string_view text) {
  auto at = text.size() - 1;
  while (at > 0 && (static_cast<std::uint8_t>(text[at]) & 0xC0U) == 0x80) --at;
  return at;
}

}  // namespace

std::string_view without_half(std::string_view head, std::string_view rest) {
  const auto all = head;
  auto next = first_char(rest);
  while (!head.empty() && next != 0) {
    const auto at = last_char_at(head);
    const auto last = first_char(head.substr(at));
    if (!is_sign(next) && !belongs_to_next(last)) return head;
    head = head.substr(0, at);
    next = last;
  }
  return head.empty() ? all : head;
}

std::string_view prefix_letters(std::string_view text, std::size_t chars_max) {
  const auto head = utf8::prefix_chars(text, chars_max);
  return without_half(head, text.substr(head.size()));
}

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

}  // namespace reef::local
