// Any bytes must be a skill with valid fields, or an error with a message.
#include "base/assert.h"
#include "base/utf8.h"
#include "skills/allowed_tools.h"
#include "skills/front_matter.h"
#include "skills/skill.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reef;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto skill = skills::parse_skill(text, "folder");
  if (!skill) {
    REEF_ASSERT(!skill.error().what.empty() && utf8::valid(skill.error().what));
    return 0;
  }
  REEF_ASSERT(skills::is_usable_name(skill->name));
  REEF_ASSERT(!skill->description.empty() && utf8::valid(skill->description));
  REEF_ASSERT(skill->description.find('\n') == std::string::npos);
  REEF_ASSERT(utf8::valid(skill->body) && text.size() + 3 * text.size() >= skill->body.size());
  for (const auto& warning : skill->warnings) REEF_ASSERT(utf8::valid(warning));
  const json::object arguments{{"command", "git log; rm x"}};
  // An item that demands a beginning must not allow two commands.
  for (const auto& item : skill->allowed_tools) {
    const auto open = item.find('(');
    if (open == std::string::npos || item.substr(open) == "(*)" || item.substr(open) == "(:*)" ||
        item.substr(open) == "( *)")
      continue;
    const std::vector<std::string> one{item};
    if (item.find_first_not_of(" \t*:", open + 1) == item.size() - 1) continue;
    REEF_ASSERT(!skills::allows(one, "bash", arguments));
  }
  return 0;
}
