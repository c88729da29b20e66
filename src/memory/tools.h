// What an agent is given to use its memory: three tools, words for its prompt that say when, and
// the function that does what it asked for. The names, arguments and answers are CrabTalk's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/task.h"
#include "memory/memory.h"

namespace reef::memory {

struct Tool {
  std::string name;
  std::string description;
  json::object parameters;  // JSON Schema of the arguments
};
// forget, recall, remember.
std::vector<Tool> tools();

// For the system prompt.
std::string_view prompt_fragment();

inline constexpr std::size_t kRecallLimit = 5;

struct ToolAnswer {
  std::string text;  // for the model
  bool failed = false;
};
// Never fails otherwise: what is wrong is text for the model. `recall_limit` is for calls that name
// none.
Task<ToolAnswer> call_tool(Memory& memory, std::string name, json::value arguments,
                           std::size_t recall_limit = kRecallLimit);

}  // namespace reef::memory
