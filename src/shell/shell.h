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
  // What "always allow" would cover: the program and, where its first word says what it does, that
  // word ("touch", "git push", "npm run test", "python3 tool.py"); "> file" for a redirection. All
  // that is more than looking in a command must come to the same rule. Empty: it cannot be allowed
  // in advance. That is so for what is dangerous, runs other programs, has computed words that
  // could be options, or sets variables.
  std::string rule;
};

Judgement judge(std::string_view command);

}  // namespace reef::shell
