// The shell parser and judge: any text must be parsed or refused within the limits, and a command
// that contains another must not be judged more harmless than it.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "shell/shell.h"
#include "shell/syntax.h"

using namespace reef::shell;
using Effect = Judgement::Effect;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse(text);
  const auto judgement = judge(text);
  REEF_ASSERT((judgement.effect == Effect::reads) == judgement.reason.empty());
  REEF_ASSERT(judgement.effect == Effect::changes || judgement.rule.empty());
  REEF_ASSERT(judgement.effect == Effect::changes || !judgement.repeatable);
  if (!parsed) {
    REEF_ASSERT(judgement.effect != Effect::reads);
    REEF_ASSERT(!parsed.error().what.empty() && parsed.error().what.size() < 300);
    return 0;
  }
  // A text beyond the limits is not understood, and then it must not count as harmless.
  const auto looks = [](const std::string& command) {
    return judge(command).effect == Effect::reads;
  };
  // The added command is on its own line before or after, so that no comment or here-document hides
  // it.
  REEF_ASSERT(!looks("touch x\n" + text));
  REEF_ASSERT(!looks(text + "\ntouch x"));
  REEF_ASSERT(!looks("echo \"$(\n" + text + "\ntouch x\n)\""));
  // After a change of folder or variables, or beside Reef itself, nothing may be allowed for good.
  const auto lasts = [](const std::string& command) {
    const auto judged = judge(command);
    return judged.repeatable || !judged.rule.empty();
  };
  REEF_ASSERT(!lasts("cd x\n" + text));
  REEF_ASSERT(!lasts("PATH=.\n" + text));
  REEF_ASSERT(!lasts(text + "\nreef sessions"));
  if (parsed->pipelines.size() == 1 && parsed->pipelines[0].commands.size() == 1 &&
      text.find_first_of("#\n\\") == std::string::npos && !parsed->pipelines[0].background)
    REEF_ASSERT(!looks(text + " > x"));
  // A harmless command must stay harmless in a group, and another must not become harmless.
  const auto grouped = judge("{\n" + text + "\n}");
  if (parse("{\n" + text + "\n}") && !parsed->pipelines.empty())
    REEF_ASSERT((grouped.effect == Effect::reads) == (judgement.effect == Effect::reads));
  return 0;
}
