// What happens in a turn, in the order it happens. Plain values; server/ turns them into messages.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "runtime/question.h"
#include "session/message.h"

namespace reef::runtime {

struct Start {
  std::string agent;
};
struct TextStart {
  std::string agent;
};
struct Chunk {
  std::string text;
};
struct TextEnd {
  std::string agent;
};
struct ThinkingStart {
  std::string agent;
};
struct Thinking {
  std::string text;
};
struct ThinkingEnd {
  std::string agent;
};
struct ToolStart {
  struct Call {
    std::string id, name, arguments;  // arguments as JSON text
  };
  std::vector<Call> calls;
};
struct ToolResult {
  std::string call_id, output;
  std::chrono::milliseconds duration{0};
  bool is_error = false;
};
struct ToolsComplete {};
// What a tool says while it works. Shown, not kept.
struct ToolProgress {
  std::string call_id, text;
};
// Taken back once it is no longer pending: whoever reads later does not see it.
struct AskUser {
  std::string id, call_id;
  Ask ask;
};
struct UserSteered {
  std::string content;
};
struct ContextUsage {
  session::Usage usage;
};
struct End {
  std::string agent;
  std::string error;           // empty: all went well
  Errc code = Errc::internal;  // what kind of error; only with `error`
  std::string model;
  session::Usage usage;
  std::string session_id;
};

using Event =
    std::variant<Start, TextStart, Chunk, TextEnd, ThinkingStart, Thinking, ThinkingEnd, ToolStart,
                 ToolResult, ToolsComplete, ToolProgress, AskUser, UserSteered, ContextUsage, End>;

}  // namespace reef::runtime
