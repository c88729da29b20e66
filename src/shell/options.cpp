#include "shell/options.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::shell {
namespace {

Objection computed(std::string_view program) {
  return fmt::format("a word after '{}' is computed and could be an option that writes", program);
}

}  // namespace

bool is_listed(std::string_view word, std::string_view list) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (std::size_t at = 0; at < list.size();) {
    const auto end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

Sorted sort_options(std::string_view program, const Options& known, const Argument* first,
                    const Argument* last) {
  Sorted sorted;
  const auto object = [&](Objection why) {
    if (sorted.objection.empty()) sorted.objection = std::move(why);
  };
  const auto refused = [&](std::string_view option) {
    object(fmt::format("'{} {}' is not known to be harmless", program, option));
  };
  bool options = true;
  for (const auto* at = first; at != last; ++at) {
    const auto& word = at->literal ? *at->literal : at->prefix;
    if (!options) {
      sorted.operands.push_back(*at);
      continue;
    }
    if (at->is("--")) {
      options = false;
      continue;
    }
    if (at->is("-") || at->is_operand() || (at->literal && at->literal->empty())) {
      sorted.operands.push_back(*at);
      if (!known.permute) options = false;
      continue;
    }
    if (at->splits || word.size() < 2 || word.front() != '-') {
      object(computed(program));
      continue;
    }
    sorted.options.push_back(*at);
    // An option's value may be any single word.
    const auto take_value = [&](std::string_view option) {
      if (at + 1 == last || !at[1].one || (known.plain_values && !at[1].is_operand())) {
        refused(option);
        return;
      }
      ++at;
    };
    if (word.starts_with("--")) {
      const auto equals = word.find('=');
      const auto name =
          std::string_view(word).substr(2, equals == std::string::npos ? equals : equals - 2);
      const bool complete = at->literal || equals != std::string::npos;
      if (!complete || (!is_listed(name, known.long_flags) && !is_listed(name, known.long_valued)))
        refused(word);
      else if (equals == std::string::npos && is_listed(name, known.long_valued))
        take_value(word);
      continue;
    }
    if (known.numbers && at->literal && word.size() < 12 &&
        std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    for (std::size_t i = 1;; ++i) {
      if (i == word.size()) {
        if (!at->literal) refused(word);  // its expansion may add letters
        break;
      }
      if (known.flags.find(word[i]) != std::string_view::npos) continue;
      if (known.valued.find(word[i]) == std::string_view::npos) {
        refused(word);
      } else if (i + 1 == word.size() && at->literal) {
        take_value(word);
        sorted.values.emplace_back(word[i], *at);
      } else if (!at->one) {
        refused(word);
      } else {
        auto value = *at;
        value.prefix.erase(0, i + 1);
        if (value.literal) value.literal = value.prefix;
        sorted.values.emplace_back(word[i], std::move(value));
      }
      break;
    }
  }
  const auto is_single = [](const Argument& argument) { return argument.one; };
  if (sorted.operands.size() > known.operands_max ||
      (known.operands_max < 1000 && !std::ranges::all_of(sorted.operands, is_single)))
    object(fmt::format("the last of so many words after '{}' is written to", program));
  return sorted;
}

}  // namespace reef::shell
