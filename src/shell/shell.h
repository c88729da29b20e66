// What a bash command line would do, judged from its syntax alone and never by substrings. Pure
// functions; anything that is not understood is never called harmless.
//
// What is trusted: that programs in PATH are what their names say, that the environment the command
// gets is the user's own (without BASH_ENV, ENV, BASH_FUNC_*, SHELLOPTS, BASHOPTS, PS4 and GIT_*,
// which whoever runs it takes out), and what programs read as their configuration (.gitconfig).
#pragma once

#include <string>
#include <string_view>

namespace reef::shell {

struct Judgement {
  enum class Effect : unsigned char {
    reads,      // every program in it is known to look only, with words known to be harmless
    changes,    // not proven to look only
    dangerous,  // what it does is hard to undo; always to be asked for
  };
  Effect effect = Effect::changes;
  std::string reason;  // why it is not `reads`, for people and for the model: "it writes to 'x'"
  // What "always allow" may cover beyond this very command: a program and what it is to do, whose
  // every word that is covered too can name no program ("git push", "mkdir"). All that is more than
  // looking in a command must come to the same rule. The judge gives it for no command that it does
  // not cover, so that comparing rules is all there is to matching. Empty: there is none.
  std::string rule;
  // "Always" may cover this very command line, in the same folder. Not so when its words name a
  // program or are computed, it changes folder or variables, or the program is Reef's own.
  bool repeatable = false;
};

Judgement judge(std::string_view command);

}  // namespace reef::shell
