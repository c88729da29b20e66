// The words of `reef search` among its arguments.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace reef::cli {

struct SearchArguments {
  std::vector<std::string> words;  // the question, as it was typed
  std::vector<std::string> rest;   // for the parser: options and what they take
};
// Taken out before the parser sees them: it would make options of -excluded words, a list of [a,b],
// and lose their order. `arguments` are those behind "search". `invalid` for an option there is
// not.
Result<SearchArguments> split_search(const CLI::App& search,
                                     const std::vector<std::string>& arguments);

}  // namespace reef::cli
