// The interface of a model backend. Loop thread.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/task.h"
#include "session/message.h"

namespace reef::model {

// A tool that a model may call.
struct Tool {
  std::string name;
  std::string description;
  json::object parameters;  // JSON Schema of an object
};

// Tools that never change once listed. A copy shares them, because every call of a model has the
// same ones, and their schemas take longer to copy than most turns take otherwise.
class ToolList {
 public:
  ToolList() = default;
  ToolList(std::vector<Tool> tools)
      : tools_(std::make_shared<const std::vector<Tool>>(std::move(tools))) {}
  ToolList(std::initializer_list<Tool> tools) : ToolList(std::vector<Tool>(tools)) {}

  const std::vector<Tool>& all() const;
  bool empty() const { return all().empty(); }
  std::size_t size() const { return all().size(); }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  const Tool& operator[](std::size_t i) const { return all()[i]; }

 private:
  std::shared_ptr<const std::vector<Tool>> tools_;  // none: there are none
};

struct ToolChoice {
  enum class Mode : std::uint8_t { automatic, none, required, named };
  Mode mode = Mode::automatic;
  std::string name;  // set for `named`
};
enum class ThinkingLevel : std::uint8_t { off, minimal, low, medium, high, xhigh };
std::optional<ThinkingLevel> thinking_level_from(std::string_view name);
std::string_view name_of(ThinkingLevel level);

// One model call.
struct Request {
  std::string model;
  std::string system;
  std::vector<session::MessagePtr> messages;
  ToolList tools;
  ToolChoice tool_choice;
  ThinkingLevel thinking = ThinkingLevel::off;
  std::optional<std::int64_t> max_tokens;
  std::vector<std::string> stop;
  json::object extra;  // parameters for this backend only, passed on unchanged
};

// A piece of the reply as it arrives; never empty.
struct Delta {
  enum class Kind : std::uint8_t { text, thinking, tool_call };
  Kind kind = Kind::text;
  std::string text;  // for a tool call: the tool's name, once known
};
using DeltaSink = std::function<void(Delta)>;

// The whole reply: its content equals the deltas, its usage is the backend's count.
struct Reply {
  session::AssistantMessage message;
};

struct Failure {
  enum class Kind : std::uint8_t {
    auth,
    rate_limit,
    overloaded,
    context_overflow,
    invalid_request,
    network,
    timeout,
    cancelled,
    server,
  };
  Kind kind = Kind::server;
  std::string message;  // the backend's own words
  int http_status = 0;  // 0 when there is none
  std::optional<std::chrono::milliseconds> retry_after;
  bool final = false;  // retrying cannot help, for example because a quota is used up
};
std::string_view name_of(Failure::Kind kind);
std::optional<Failure::Kind> failure_kind_from(std::string_view name);
// True when the same request may succeed a moment later.
bool is_transient(const Failure& failure);
// Tells people what failed, for which model, and why.
std::string describe(const Failure& failure, std::string_view model);

using Outcome = std::variant<Reply, Failure>;

class Provider {
 public:
  virtual ~Provider() = default;

  // The api name that transcripts record, for example anthropic-messages.
  virtual std::string_view api() const = 0;

  // False for one that only quotes what exists: it cannot follow instructions, so summaries and
  // titles are made without it, and nothing can be learnt from its token counts.
  virtual bool is_language_model() const { return true; }

  // Calls `sink` for every piece as it arrives, then returns the whole. Cancelling the task (asio
  // terminal cancellation) closes the request at once and unwinds with operation_aborted. The
  // request and the sink must outlive the task.
  virtual Task<Outcome> stream(const Request& request, const DeltaSink& sink) = 0;
};

}  // namespace reef::model
