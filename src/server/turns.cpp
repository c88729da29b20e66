#include "server/turns.h"

#include <deque>
#include <limits>

#include <fmt/format.h>

#include "base/overload.h"
#include "base/utf8.h"
#include "runtime/runtime.h"
#include "server/decisions.h"
#include "server/entrance.h"
#include "server/operations.h"
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
  out.set_estimated(usage.estimated);
  if (usage.cache_read > 0) {
    out.set_cache_hit_tokens(clamp_u32(usage.cache_read));
    out.set_cache_miss_tokens(clamp_u32(prompt - usage.cache_read));
  }
}

}  // namespace

TurnsNeeds TurnsNeeds::of(const Node& node) {
  return {node.runtime, node.entrance};
}

void fill(protocol::ContextUsage& out, const runtime::ContextUsage& usage) {
  fill(*out.mutable_usage(), usage.usage);
  out.set_tokens(usage.tokens);
  out.set_window(usage.window);
  out.set_reserve(usage.reserve);
  out.set_share(usage.share);
  out.set_estimated(usage.estimated);
}

void fill(protocol::StreamEvent& out, runtime::Event event) {
  std::visit(
      Overload{
          [&](runtime::Start& e) { out.mutable_start()->set_agent(e.agent); },
          [&](runtime::TextStart& e) { out.mutable_text_start()->set_agent(e.agent); },
          [&](runtime::Chunk& e) { out.mutable_chunk()->set_content(std::move(e.text)); },
          [&](runtime::TextEnd& e) { out.mutable_text_end()->set_agent(e.agent); },
          [&](runtime::ThinkingStart& e) { out.mutable_thinking_start()->set_agent(e.agent); },
          [&](runtime::Thinking& e) { out.mutable_thinking()->set_content(std::move(e.text)); },
          [](runtime::ContextCompacted&) {},  // never part of a turn
          [](runtime::Decided&) {},           // nor is this
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
          [&](runtime::ToolForward& e) {
            auto& forward = *out.mutable_tool_call_forward();
            forward.set_call_id(std::move(e.call_id));
            forward.set_name(std::move(e.name));
            forward.set_arguments(std::move(e.arguments));
            forward.set_conversation_id(e.run);
          },
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
}

namespace {

protocol::ServerMessage to_message(runtime::Event event) {
  protocol::ServerMessage message;
  server::fill(*message.mutable_stream(), std::move(event));
  return message;
}

// The events a client can take. Its decoder fails on an event it does not know, and only its
// requests show which generation it is (docs/protocol.md).
enum class Dialect : std::uint8_t {
  ours,
  first,    // 0.0.21, and clients that do not show more: up to context_usage
  tools,    // 0.0.22 and 0.0.23 with tools of their own: tool_call_forward instead of ask_user
  handles,  // 0.0.24: neither, and no user_steered
};

json::object as_json(const runtime::Ask& ask) {
  json::array questions;
  for (const auto& question : ask.questions) {
    json::array options;
    for (const auto& option : question.options)
      options.push_back(json::object{{"label", option.label}, {"description", option.description}});
    questions.push_back(json::object{{"question", question.text},
                                     {"header", question.header},
                                     {"options", std::move(options)},
                                     {"multi_select", question.multi_select}});
  }
  return json::object{{"questions", std::move(questions)}};
}

// Puts a question into words for a client that can be shown nothing else.
std::string in_words(const runtime::AskUser& asked) {
  std::string out;
  for (const auto& question : asked.ask.questions) {
    out += fmt::format("\n[{}]", question.text);
    for (const auto& option : question.options) out += fmt::format("\n- {}", option.label);
  }
  return out + fmt::format("\n(Answer with: reef answer {} TEXT)\n", asked.id);
}

// The events a dialect has for an event; none when it has no word for it. `run` is the run whose
// client brought tools; 0: this client brought none.
std::vector<runtime::Event> said_in(Dialect dialect, std::uint64_t run, runtime::Event event) {
  std::vector<runtime::Event> out;
  const auto* forward = std::get_if<runtime::ToolForward>(&event);
  const auto* asked = std::get_if<runtime::AskUser>(&event);
  if (forward) {
    if (forward->run == run) out.push_back(std::move(event));
  } else if (dialect == Dialect::ours) {
    out.push_back(std::move(event));
  } else if (std::holds_alternative<runtime::ToolProgress>(event)) {
    return out;
  } else if (asked && dialect == Dialect::tools) {
    out.push_back(
        runtime::ToolForward{asked->id, "ask_user", json::write(as_json(asked->ask)), run});
  } else if (asked && dialect == Dialect::handles) {
    out.push_back(runtime::TextStart{});
    out.push_back(runtime::Chunk{in_words(*asked)});
    out.push_back(runtime::TextEnd{});
  } else if (!(dialect == Dialect::handles &&
               std::holds_alternative<runtime::UserSteered>(event))) {
    out.push_back(std::move(event));
  }
  return out;
}

std::vector<std::string> tools_of(const std::vector<model::Tool>& tools) {
  std::vector<std::string> names;
  for (const auto& tool : tools) names.push_back(tool.name);
  return names;
}

// Reads along with a run. Leaving early changes nothing for the run, unless a client of CrabTalk's
// that owns it leaves: it wants its turn to end.
class TurnStream final : public protocol::MessageStream {
 public:
  explicit TurnStream(std::shared_ptr<runtime::Run> run, Dialect dialect = Dialect::ours)
      : run_(std::move(run)), dialect_(dialect) {
    run_->events().attach();
  }
  // For a client that brought tools.
  TurnStream(std::shared_ptr<runtime::Run> run, Dialect dialect, runtime::Forwards& forwards,
             const std::vector<std::string>& tools)
      : TurnStream(std::move(run), dialect) {
    if (tools.empty()) return;
    forwards_ = &forwards;
    attends_ = forwards.attend(run_, tools);
  }
  ~TurnStream() override {
    auto& events = run_->events();
    events.detach();
    if (ended_) return;
    if (dialect_ == Dialect::ours) return;
    // A run that others read, or wait for, goes on.
    if (!place_.elsewhere && !events.has_readers() && !run_->shared()) run_->cancel();
  }

  Task<std::optional<protocol::ServerMessage>> next() override {
    while (ready_.empty() && !ended_) {
      auto event = co_await run_->events().next(place_);
      if (!event) {
        ended_ = true;
        co_return protocol::make_error(event.error());
      }
      if (!*event) {
        ended_ = true;
        break;
      }
      // A call that has its outcome is not made again by whoever reads from the beginning.
      const auto* forward = std::get_if<runtime::ToolForward>(&**event);
      if (forward && !(attends_ && forwards_->waits(forward->run, forward->call_id))) continue;
      for (auto& said : said_in(dialect_, attends_ ? run_->number() : 0, std::move(**event)))
        ready_.push_back(std::move(said));
    }
    if (ready_.empty()) co_return std::nullopt;
    auto event = std::move(ready_.front());
    ready_.pop_front();
    if (std::holds_alternative<runtime::End>(event)) ended_ = true;
    co_return to_message(std::move(event));
  }

 private:
  std::shared_ptr<runtime::Run> run_;
  Dialect dialect_;
  runtime::Forwards* forwards_ = nullptr;
  std::shared_ptr<void> attends_;
  runtime::EventLog::Place place_;
  std::deque<runtime::Event> ready_;
  bool ended_ = false;
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
      // Words between tool calls are paragraphs of their own.
      if (!response.content().empty()) *response.mutable_content() += "\n\n";
    } else if (auto* end = std::get_if<runtime::End>(&**event)) {
      if (!end->error.empty()) co_return protocol::make_error(Error(end->code, end->error));
      // Words between tool calls belonged to an answer that is not given.
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

constexpr std::size_t kClientToolsMax = 128;

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
             std::string_view::npos;
}

Dialect dialect_of(const protocol::Peer& peer, const protocol::Stream& request) {
  if (!peer.legacy) return Dialect::ours;
  if (request.tools_size() > 0) return Dialect::tools;
  // All clients that know ephemeral turns know what the last generation knows.
  return request.session_handle().empty() && !request.ephemeral() ? Dialect::first
                                                                  : Dialect::handles;
}

template <class Request>
Result<runtime::Message> message_from(const Request& request, const std::string& client_id) {
  runtime::Message message{request.agent(), request.sender(), request.content(), request.cwd()};
  message.key = key_in(request);
  message.guest = request.guest();
  message.tool_choice = tool_choice_from(request.tool_choice());
  message.hidden = request.hidden();
  message.context = request.context();
  if (!client_id.empty()) message.client = session::ClientMark{client_id, {}, {}};
  // Only the reader of a stream can be asked to run tools.
  constexpr bool kStreams = std::is_same_v<Request, protocol::Stream>;
  for (const auto& tool : request.tools()) {
    if (!kStreams) break;
    auto schema = json::parse(tool.parameters_schema().empty() ? "{}" : tool.parameters_schema());
    if (!schema || !schema->is_object() || !is_tool_name(tool.name()))
      return Error(Errc::invalid, fmt::format("tools: '{}' needs a name of letters, digits, '_' "
                                              "and '-', and a JSON schema",
                                              utf8::excerpt(tool.name())));
    if (message.client_tools.size() >= kClientToolsMax)
      return Error(Errc::too_large, fmt::format("tools: at most {}", kClientToolsMax));
    auto& parameters = schema->as_object();
    if (!parameters.contains("type")) parameters["type"] = "object";
    message.client_tools.push_back(
        {tool.name(), utf8::sanitize(tool.description()), std::move(parameters)});
  }
  if constexpr (requires { request.ephemeral(); }) {
    message.ephemeral = request.ephemeral();
    message.correlation_id = request.correlation_id();
  }
  if constexpr (requires { request.only_tools(); })
    message.only_tools.assign(request.only_tools().begin(), request.only_tools().end());
  if (!request.queue().empty()) {
    message.queue = runtime::queue_mode_from(request.queue());
    if (!message.queue)
      return Error(Errc::invalid, fmt::format("queue: '{}' is none of followup, steer, collect, "
                                              "interrupt",
                                              utf8::excerpt(request.queue())));
  }
  return message;
}

// A message that is not let in at once.
struct Entering {
  std::shared_ptr<Entrance::Ticket> ticket;
  runtime::Message message;
};

Task<protocol::ServerMessage> whole_entering_turn(TurnsNeeds needs, Entering entering) {
  auto run =
      co_await needs.entrance.let_in(std::move(entering.ticket), std::move(entering.message));
  if (!run) co_return protocol::make_error(run.error());
  co_return co_await whole_turn(*std::move(run));
}

protocol::Answer answer_send(const Asked& asked) {
  const TurnsNeeds needs = asked.needs();
  auto message = message_from(asked.message.send(), asked.message.client_id());
  if (!message) return protocol::answer_with(message.error());
  if (!needs.entrance.is_free(*message)) {
    auto ticket = needs.entrance.draw(*message);
    if (!ticket) return protocol::answer_with(ticket.error());
    return protocol::answer_with(
        whole_entering_turn(needs, {*std::move(ticket), *std::move(message)}));
  }
  auto run = needs.runtime.submit(*std::move(message));
  if (!run) return protocol::answer_with(run.error());
  return protocol::answer_with(whole_turn(*std::move(run)));
}

// A message whose folder is looked for first, or whose client named it: whether it was sent before
// is found out first.
class EnteringTurn final : public protocol::MessageStream {
 public:
  EnteringTurn(TurnsNeeds needs, Entering entering, Dialect dialect)
      : needs_(needs), entering_(std::move(entering)), dialect_(dialect) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (over_) co_return std::nullopt;
    if (!turn_) {
      const auto tools = tools_of(entering_.message.client_tools);
      auto run = co_await needs_.entrance.let_in(std::move(entering_.ticket),
                                                 std::move(entering_.message));
      if (!run) {
        over_ = true;
        co_return protocol::make_error(run.error());
      }
      turn_ =
          std::make_unique<TurnStream>(*std::move(run), dialect_, needs_.runtime.forwards(), tools);
    }
    co_return co_await turn_->next();
  }

 private:
  TurnsNeeds needs_;
  Entering entering_;
  Dialect dialect_;
  protocol::Answer turn_;
  bool over_ = false;
};

}  // namespace

protocol::Answer answer_stream(TurnsNeeds needs, const protocol::Stream& request,
                               const protocol::Peer& peer, const std::string& client_id) {
  auto message = message_from(request, client_id);
  if (!message) return protocol::answer_with(message.error());
  if (!needs.entrance.is_free(*message)) {
    auto ticket = needs.entrance.draw(*message);
    if (!ticket) return protocol::answer_with(ticket.error());
    return std::make_unique<EnteringTurn>(needs, Entering{*std::move(ticket), *std::move(message)},
                                          dialect_of(peer, request));
  }
  const auto tools = tools_of(message->client_tools);
  auto run = needs.runtime.submit(*std::move(message));
  if (!run) return protocol::answer_with(run.error());
  return std::make_unique<TurnStream>(*std::move(run), dialect_of(peer, request),
                                      needs.runtime.forwards(), tools);
}

namespace {

protocol::Answer answer_kill(TurnsNeeds needs, const protocol::Kill& request) {
  const auto killed =
      needs.entrance.kill(request.agent(), request.sender(), key_in(request), request.all());
  if (!killed) return protocol::answer_with(killed.error());
  return protocol::answer_with(protocol::make_pong());
}

Task<protocol::ServerMessage> steer(TurnsNeeds needs, runtime::Message message) {
  const auto steered = co_await needs.runtime.steer_once(std::move(message));
  co_return steered ? protocol::make_pong() : protocol::make_error(steered.error());
}

protocol::Answer answer_steer(const Asked& asked) {
  const auto& request = asked.message.steer_session();
  runtime::Message message{request.agent(), request.sender(), request.content(), {}};
  message.key = key_in(request);
  if (asked.mark) message.client = asked.mark;
  return protocol::answer_with(steer(asked.needs(), std::move(message)));
}

protocol::Answer answer_attach_run(TurnsNeeds needs, const protocol::AttachRun& request) {
  auto run = needs.runtime.running(request.agent(), request.sender(), key_in(request));
  if (!run) return protocol::answer_with(run.error());
  return std::make_unique<TurnStream>(*std::move(run));
}

}  // namespace

Operations turns_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kSend, Right::answer, Messages::one, Naming::transcript, answer_send},
      {M::kStream, Right::answer, Messages::many, Naming::transcript,
       [](const Asked& asked) {
         return answer_stream(asked.needs(), asked.message.stream(), asked.peer,
                              asked.message.client_id());
       }},
      {M::kKill, Right::answer, Messages::one, Naming::ledger, answered<&M::kill, answer_kill>},
      {M::kSteerSession, Right::answer, Messages::one, Naming::transcript, answer_steer},
      {M::kAttachRun, Right::read, Messages::many, Naming::none,
       answered<&M::attach_run, answer_attach_run>},
  };
  return kRows;
}

}  // namespace reef::server
