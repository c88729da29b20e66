// What happens in a turn, in the order it happens. Plain values; server/ turns them into messages.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "runtime/question.h"
#include "session/message.h"

namespace reef::runtime {

struct Decision;

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
  bool aside = false;  // words before the answer, held back until there was one
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
// Progress that a tool reports while it works. Shown, not kept.
struct ToolProgress {
  std::string call_id, text;
};
// Withdrawn once it is no longer pending: later readers do not see it.
struct AskUser {
  std::string id, call_id;
  Ask ask;
};
// The client that brought this tool is asked to run it. Nobody else is told.
struct ToolForward {
  std::string call_id, name, arguments;  // as JSON text
  std::uint64_t run = 0;                 // the run whose client is meant
};
struct UserSteered {
  std::string content;
};
// How full the window is; sent after every step.
struct ContextUsage {
  session::Usage usage;      // of the step
  std::int64_t tokens = 0;   // in the context now
  std::int64_t window = 0;   // 0: not known
  std::int64_t reserve = 0;  // kept free in the window for what comes next
  double share = 0;          // tokens / (window - reserve); 0: not known
  bool estimated = false;    // the provider did not count all of it
};
// A session's context became shorter, whoever asked for it. Not part of a turn.
struct ContextCompacted {
  std::int64_t tokens_before = 0, tokens_after = 0;  // estimated
  std::size_t messages = 0;
  std::string archive;
};
// A decision was asked for, answered or closed. Not part of a turn.
struct Decided {
  std::shared_ptr<const Decision> decision;
};
struct End {
  std::string agent;
  std::string error;           // empty: all went well
  Errc code = Errc::internal;  // what kind of error; only with `error`
  std::string model;
  session::Usage usage;
  std::string session_id;
  bool silent = false;     // the reply was NO_REPLY: there is nothing to deliver
  bool compacted = false;  // the context overflowed; it was compacted and the model asked again
  bool hidden = false;     // the words came from a program
  std::optional<ContextUsage> context = {};  // none when no step succeeded
};

using Event = std::variant<Start, TextStart, Chunk, TextEnd, ThinkingStart, Thinking, ThinkingEnd,
                           ToolStart, ToolResult, ToolsComplete, ToolProgress, AskUser, UserSteered,
                           ContextUsage, ContextCompacted, End, ToolForward, Decided>;

}  // namespace reef::runtime
