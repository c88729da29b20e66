// Assembles a reply from the pieces of a stream: passes each piece on as it arrives and keeps the
// whole. Every decoder feeds one. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/conversation.h"

namespace reef::model {

class ReplyBuilder {
 public:
  explicit ReplyBuilder(ToolNames names) : names_(std::move(names)) {}

  // `number` is the API's number of the block, counted separately for each kind; blocks keep the
  // order in which they were first mentioned.
  void add_text(std::int64_t number, std::string_view text, const DeltaSink& sink);
  void add_thinking(std::int64_t number, std::string_view text, const DeltaSink& sink);
  void add_thinking_signature(std::int64_t number, std::string_view signature);
  void set_redacted(std::int64_t number, std::string_view data);
  void set_text_signature(std::int64_t number, std::string_view signature);
  // The id and the name may come late or again; empty values change nothing.
  void add_call(std::int64_t number, std::string_view id, std::string_view name,
                const DeltaSink& sink);
  void add_arguments(std::int64_t number, std::string_view json);
  void set_arguments(std::int64_t number, json::object arguments);
  void set_call_signature(std::int64_t number, std::string_view signature);

  // True when the reply is larger than any model's; the caller must give it up.
  bool too_large() const { return bytes_ > kBytesMax; }

  session::Usage usage;
  std::string model;  // the model that answered, as the backend names it

  // Returns the whole reply. Drops calls without a name and calls that `length` cut in their
  // arguments; gives an id to calls without one. `stop` and `tool_use` are corrected to match the
  // content.
  Reply finish(session::StopReason reason);

 private:
  static constexpr std::size_t kBytesMax = 64U << 20;

  struct Call {
    session::ToolCallBlock block;
    std::string arguments;
  };
  enum class Kind : std::uint8_t { text, thinking, call };

  template <class T>
  T& at(std::map<std::int64_t, T>& blocks, Kind kind, std::int64_t number);
  session::TextBlock& text_at(std::int64_t number) { return at(texts_, Kind::text, number); }
  session::ThinkingBlock& thinking_at(std::int64_t number) {
    return at(thoughts_, Kind::thinking, number);
  }
  Call& call_at(std::int64_t number) { return at(calls_, Kind::call, number); }

  ToolNames names_;
  std::map<std::int64_t, session::TextBlock> texts_;
  std::map<std::int64_t, session::ThinkingBlock> thoughts_;
  std::map<std::int64_t, Call> calls_;
  std::vector<std::pair<Kind, std::int64_t>> order_;
  std::size_t bytes_ = 0;
};

// Interprets an HTTP error by its status alone; the message is the body, or the status in words if
// there is no body.
Failure failure_of_status(int status, std::string_view body);
// For a body or frame that breaks the API's promises.
Failure garbled(std::string_view what);
// For a body that ended before the reply did.
Failure cut_short();
Failure grown_too_large();

}  // namespace reef::model
