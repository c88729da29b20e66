// What a bash command line would do, judged from its syntax alone and never by substrings. Pure
// functions; anything that is not understood is never called harmless.
#pragma once

#include <string>
#include <string_view>

namespace reef::shell {

struct Judgement {
  enum class Effect : unsigned char { reads, changes, dangerous };
  Effect effect = Effect::changes;
  std::string reason;  // why it is not `reads`, for people and for the model: "'tee' writes files"
  std::string rule;    // what "always allow" would cover, as "git push"; empty: nothing can be
};

Judgement judge(std::string_view command);

}  // namespace reef::shell
