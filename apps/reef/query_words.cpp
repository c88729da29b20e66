#include "query_words.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::cli {

Result<SearchArguments> split_search(const CLI::App& search,
                                     const std::vector<std::string>& arguments) {
  SearchArguments out;
  for (auto at = arguments.begin(); at != arguments.end(); ++at) {
    if (*at == "--") {
      out.words.insert(out.words.end(), at + 1, arguments.end());
      break;
    }
    const auto equals = at->find('=');
    const auto* option =
        at->starts_with('-') ? search.get_option_no_throw(at->substr(0, equals)) : nullptr;
    if (!option && !at->starts_with("--")) {
      out.words.push_back(*at);
      continue;
    }
    if (!option)
      return Error(Errc::invalid,
                   fmt::format("search has no option {}; words that begin with -- go behind a --: "
                               "reef search -- {}",
                               utf8::excerpt(*at), utf8::excerpt(*at)));
    const bool takes_one = option->get_items_expected_max() > 0;
    const bool is_short = !at->starts_with("--");
    if (takes_one && is_short && equals != std::string::npos) {
      // From -a=x the parser would take "=x" as the value.
      out.rest.push_back(fmt::format("--{}{}", option->get_lnames().front(), at->substr(equals)));
      continue;
    }
    out.rest.push_back(*at);
    if (takes_one && equals == std::string::npos && at + 1 != arguments.end())
      out.rest.push_back(*++at);
  }
  return out;
}

}  // namespace reef::cli
