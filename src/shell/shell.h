// Judges what a bash command line would do, from its syntax alone and never by substrings. Pure
// functions; nothing that is not understood is called harmless.
//
// It trusts that programs in PATH are what their names say, that the command's environment is the
// user's own (without BASH_ENV, ENV, BASH_FUNC_*, SHELLOPTS, BASHOPTS, PS4 and GIT_*, which the
// caller removes), and that the programs' configuration (.gitconfig) is harmless.
#pragma once

#include <string>
#include <string_view>

namespace reef::shell {

struct Judgement {
  enum class Effect : unsigned char {
    reads,      // each of its programs is known to only read, with words known to be harmless
    changes,    // not proven to only read
    dangerous,  // hard to undo; the user is always asked
  };
  Effect effect = Effect::changes;
  std::string reason;  // why it is not `reads`, for people and for the model: "it writes to 'x'"
  // The kind of command that "always allow" may cover beyond this very one: a program and its verb
  // ("git push", "mkdir") with words that can name no program. All parts of a command that change
  // something must have the same rule. The judge gives it only to commands it covers, so matching
  // means comparing rules. Empty when there is none.
  std::string rule;
  // "Always" may cover this very command line in the same folder. False when its words name a
  // program or are computed, when it changes folder or variables, or when the program is Reef's
  // own.
  bool repeatable = false;
};

Judgement judge(std::string_view command);

}  // namespace reef::shell
