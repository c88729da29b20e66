#include <limits>

#include <fmt/format.h>

#include "base/overload.h"
#include "base/utf8.h"
#include "server/server.h"

namespace reef::server {
namespace {

std::uint32_t clamp_u32(std::int64_t value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, kMax));
}

void fill(protocol::TokenUsage& out, const session::Usage& usage) {
  const auto prompt = usage.input + usage.cache_read + usage.cache_write;
  out.set_prompt_tokens(clamp_u32(prompt));
  out.set_completion_tokens(clamp_u32(usage.output));
  out.set_total_tokens(clamp_u32(prompt + usage.output));
  if (usage.cache_read > 0) {
    out.set_cache_hit_tokens(clamp_u32(usage.cache_read));
    out.set_cache_miss_tokens(clamp_u32(prompt - usage.cache_read));
  }
}

}  // namespace

void fill(protocol::ContextUsage& out, const runtime::ContextUsage& usage) {
  fill(*out.mutable_usage(), usage.usage);
  out.set_tokens(usage.tokens);
  out.set_window(usage.window);
  out.set_reserve(usage.reserve);
  out.set_share(usage.share);
  out.set_estimated(usage.estimated);
}

namespace {

protocol::ServerMessage to_message(runtime::Event event) {
  protocol::ServerMessage message;
  auto& out = *message.mutable_stream();
  std::visit(
      Overload{
          [&](runtime::Start& e) { out.mutable_start()->set_agent(e.agent); },
          [&](runtime::TextStart& e) { out.mutable_text_start()->set_agent(e.agent); },
          [&](runtime::Chunk& e) { out.mutable_chunk()->set_content(std::move(e.text)); },
          [&](runtime::TextEnd& e) { out.mutable_text_end()->set_agent(e.agent); },
          [&](runtime::ThinkingStart& e) { out.mutable_thinking_start()->set_agent(e.agent); },
          [&](runtime::Thinking& e) { out.mutable_thinking()->set_content(std::move(e.text)); },
          [&](runtime::ThinkingEnd& e) { out.mutable_thinking_end()->set_agent(e.agent); },
          [&](runtime::ToolStart& e) {
            for (auto& call : e.calls) {
              auto& info = *out.mutable_tool_start()->add_calls();
              info.set_name(std::move(call.name));
              info.set_arguments(std::move(call.arguments));
              info.set_call_id(std::move(call.id));
            }
          },
          [&](runtime::ToolResult& e) {
            auto& result = *out.mutable_tool_result();
            result.set_call_id(std::move(e.call_id));
            result.set_output(std::move(e.output));
            result.set_duration_ms(static_cast<std::uint64_t>(e.duration.count()));
            result.set_is_error(e.is_error);
          },
          [&](runtime::ToolsComplete&) { out.mutable_tools_complete(); },
          [&](runtime::ToolProgress& e) {
            out.mutable_tool_progress()->set_call_id(std::move(e.call_id));
            out.mutable_tool_progress()->set_output(std::move(e.text));
          },
          [&](runtime::AskUser& e) { fill_ask(*out.mutable_ask_user(), e.id, e.call_id, e.ask); },
          [&](runtime::UserSteered& e) {
            out.mutable_user_steered()->set_content(std::move(e.content));
          },
          [&](runtime::ContextUsage& e) { server::fill(*out.mutable_context_usage(), e); },
          [&](runtime::End& e) {
            auto& end = *out.mutable_end();
            end.set_agent(e.agent);
            end.set_error(e.error);
            end.set_model(e.model);
            end.set_session_id(e.session_id);
            end.set_silent(e.silent);
            end.set_compacted(e.compacted);
            if (!e.error.empty()) end.set_error_code(traits(e.code).wire_code);
            fill(*end.mutable_usage(), e.usage);
          },
      },
      event);
  return message;
}

// Reads along with a run. Going away early changes nothing for the run.
class TurnStream final : public protocol::MessageStream {
 public:
  explicit TurnStream(std::shared_ptr<runtime::Run> run) : run_(std::move(run)) {
    run_->events().attach();
  }
  ~TurnStream() override { run_->events().detach(); }

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (failed_) co_return std::nullopt;
    auto event = co_await run_->events().next(place_);
    if (!event) {
      failed_ = true;
      co_return protocol::make_error(event.error());
    }
    if (!*event) co_return std::nullopt;
    co_return to_message(std::move(**event));
  }

 private:
  std::shared_ptr<runtime::Run> run_;
  runtime::EventLog::Place place_;
  bool failed_ = false;
};

struct Attached {
  explicit Attached(runtime::EventLog& log) : events(log) { events.attach(); }
  ~Attached() { events.detach(); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  runtime::EventLog& events;
};

Task<protocol::ServerMessage> whole_turn(std::shared_ptr<runtime::Run> run) {
  const Attached attached(run->events());
  protocol::ServerMessage message;
  auto& response = *message.mutable_response();
  runtime::EventLog::Place place;
  for (;;) {
    auto event = co_await run->events().next(place);
    if (!event) co_return protocol::make_error(event.error());
    if (!*event) break;
    if (auto* chunk = std::get_if<runtime::Chunk>(&**event)) {
      *response.mutable_content() += chunk->text;
    } else if (std::holds_alternative<runtime::TextStart>(**event)) {
      // What was said between tool calls are paragraphs of their own.
      if (!response.content().empty()) *response.mutable_content() += "\n\n";
    } else if (auto* end = std::get_if<runtime::End>(&**event)) {
      if (!end->error.empty()) co_return protocol::make_error(Error(end->code, end->error));
      // What was said between tool calls belonged to an answer that is not given.
      if (end->silent) response.clear_content();
      response.set_agent(end->agent);
      response.set_model(end->model);
      response.set_session_id(end->session_id);
      fill(*response.mutable_usage(), end->usage);
    }
  }
  co_return message;
}

model::ToolChoice tool_choice_from(const std::string& text) {
  using Mode = model::ToolChoice::Mode;
  if (text.empty() || text == "auto") return {};
  if (text == "none") return {Mode::none, {}};
  if (text == "required") return {Mode::required, {}};
  return {Mode::named, text};
}

std::optional<std::string> key_in(const auto& request) {
  return request.has_key() ? std::optional<std::string>(request.key()) : std::nullopt;
}

template <class Request>
Result<std::shared_ptr<runtime::Run>> submit(Node& node, const Request& request) {
  runtime::Message message{request.agent(), request.sender(), request.content(), request.cwd()};
  message.key = key_in(request);
  message.guest = request.guest();
  message.tool_choice = tool_choice_from(request.tool_choice());
  message.hidden = request.hidden();
  message.context = request.context();
  if (!request.queue().empty()) {
    message.queue = runtime::queue_mode_from(request.queue());
    if (!message.queue)
      return Error(Errc::invalid, fmt::format("queue: '{}' is none of followup, steer, collect, "
                                              "interrupt",
                                              utf8::excerpt(request.queue())));
  }
  return node.runtime.submit(std::move(message));
}

}  // namespace

protocol::Answer answer_send(Node& node, const protocol::Send& request) {
  auto run = submit(node, request);
  if (!run) return protocol::answer_with(run.error());
  return protocol::answer_with(whole_turn(*std::move(run)));
}

protocol::Answer answer_stream(Node& node, const protocol::Stream& request,
                               const protocol::Peer& peer) {
  static_cast<void>(peer);
  auto run = submit(node, request);
  if (!run) return protocol::answer_with(run.error());
  return std::make_unique<TurnStream>(*std::move(run));
}

protocol::Answer answer_kill(Node& node, const protocol::Kill& request) {
  const auto killed =
      node.runtime.kill(request.agent(), request.sender(), key_in(request), request.all());
  if (!killed) return protocol::answer_with(killed.error());
  return protocol::answer_with(protocol::make_pong());
}

protocol::Answer answer_steer(Node& node, const protocol::SteerSession& request) {
  runtime::Message message{request.agent(), request.sender(), request.content(), {}};
  message.key = key_in(request);
  const auto steered = node.runtime.steer(std::move(message));
  if (!steered) return protocol::answer_with(steered.error());
  return protocol::answer_with(protocol::make_pong());
}

protocol::Answer answer_attach_run(Node& node, const protocol::AttachRun& request) {
  auto run = node.runtime.running(request.agent(), request.sender(), key_in(request));
  if (!run) return protocol::answer_with(run.error());
  return std::make_unique<TurnStream>(*std::move(run));
}

}  // namespace reef::server
