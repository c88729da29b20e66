// Finds the words of `reef search` among its arguments.
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
  std::vector<std::string> rest;   // for the parser: options and their values
};
// The words are taken out before the parser sees them: it would take -excluded words for options
// and [a,b] for a list, and lose their order. `arguments` are those after "search". An unknown
// option is `invalid`.
Result<SearchArguments> split_search(const CLI::App& search,
                                     const std::vector<std::string>& arguments);

}  // namespace reef::cli
