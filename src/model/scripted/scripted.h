// A provider that replies from a script: for tests and benchmarks, and for trying a client without
// a model. The conversation alone decides which reply comes, by its number of user messages and of
// replies with tool calls; other conversations have no influence.
//
//   {"replies": [
//     {"text": "hello there", "chunks": 2, "delay_ms": 5},
//     {"text": "a", "repeat": 1000},
//     {"text": "so far", "hang": true},
//     {"text": "", "calls": [{"name": "recall", "arguments": {"query": "x"}}]},
//     {"fail": "rate_limit", "message": "slow down", "http_status": 429}
//   ], "window": 32000}
//
// `text` is cut into `chunks` pieces (default: at spaces), `repeat` says it so many times,
// `delay_ms` waits before each piece, `hang` never ends by itself, `fail` ends with that failure
// after the text; `calls` asks for tools. With a `window`, a request of more tokens (a quarter of
// its bytes) fails as too long.
#pragma once

#include "base/result.h"
#include "model/provider.h"

namespace reef::model {

struct ScriptedReply {
  std::vector<std::string> chunks;
  std::vector<session::ToolCallBlock> calls;  // have no ids
  std::chrono::milliseconds delay{0};
  bool hang = false;
  std::optional<Failure> failure;
};

struct Script {
  std::vector<ScriptedReply> replies;
  std::int64_t window = 0;  // in tokens; 0 for no limit
};

Result<Script> parse_script(std::string_view json);

class ScriptedProvider final : public Provider {
 public:
  explicit ScriptedProvider(Script script) : script_(std::move(script)) {}

  std::string_view api() const override { return "reef-scripted"; }
  Task<Outcome> stream(const Request& request, const DeltaSink& sink) override;

 private:
  Script script_;
};

}  // namespace reef::model
