#include "shell/programs.h"

namespace reef::shell {
namespace {

// print and printf can write to a file or a program only by a later > or |. Besides them only
// system() and getline run programs. @ loads extensions and calls functions named by a string.
Objection objection_to_program(std::string_view program) {
  for (const std::string_view word : {"system", "getline", "@", "\\\n"})
    if (program.find(word) != std::string_view::npos) return "this awk program can run others";
  const auto print = program.find("print");
  for (auto at = program.find_first_of(">|"); at != std::string_view::npos;
       at = program.find_first_of(">|", at + 1)) {
    if (program.substr(at).starts_with("||") && !program.substr(at).starts_with("|||")) {
      ++at;
      continue;
    }
    if (print != std::string_view::npos && print < at) return "this awk program can write files";
  }
  return {};
}

}  // namespace

Objection objection_to_awk(Call call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    const auto& word = call[i];
    if (word.is("-F") || word.is("-v")) {
      if (++i == call.size() || !call[i].one) return "'awk' lacks a word";
    } else if (word.one && word.prefix.size() > 2 &&
               (word.prefix.starts_with("-F") || word.prefix.starts_with("-v"))) {
      continue;
    } else if (word.is("--")) {
      if (++i == call.size() || !call[i].literal) return "an awk program that is not written out";
      return objection_to_program(*call[i].literal);
    } else if (!word.literal) {
      return "an awk program that is not written out";
    } else if (word.literal->starts_with("-")) {
      return "'awk " + *word.literal + "' is not known to be harmless";
    } else {
      // The other words are input, whatever they look like.
      return objection_to_program(*word.literal);
    }
  }
  return {};
}

}  // namespace reef::shell
