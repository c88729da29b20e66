#include "slash.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "session_view.h"

namespace reef::cli {
namespace {

constexpr std::chrono::minutes kCompactPatience{30};

struct Known {
  std::string_view name, arguments, what;
};
// In the order of the help. `new` and `reset` are the daemon's.
constexpr Known kCommands[] = {
    {"new", "[MESSAGE]", "a new session; /reset is the same"},
    {"resume", "ID", "go on with another session here"},
    {"fork", "[ENTRY]", "go on in a copy of this session, up to an entry"},
    {"status", "", "model, context, tokens, cost, file"},
    {"context", "", "what fills the window"},
    {"compact", "[TEXT]", "summarise what is old; TEXT is what to mind"},
    {"title", "[TEXT]", "name this session, or have it named"},
    {"model", "[NAME]", "the model of this session; 'default' for the agent's"},
    {"think", "[LEVEL]", "off, minimal, low, medium, high, xhigh"},
    {"verbose", "[on|off]", "how full the window is after every answer; compactions"},
    {"stop", "", "stop what runs in this conversation"},
    {"help", "", "this text"},
    {"quit", "", "leave; so does Ctrl-D"},
};

void print_help() {
  print_line("Type a message and press Enter. Ctrl-C stops an answer, Ctrl-D leaves.");
  for (const auto& known : kCommands)
    print_line(fmt::format("  /{:<8} {:<10} {}", known.name, known.arguments, known.what));
  print_line("Other words with a slash go to the agent: skills are called that way.");
}

Task<Result<protocol::SessionDescription>> current(client::Client& client,
                                                   const ChatOptions& options) {
  protocol::DescribeSession request;
  request.set_agent(options.agent);
  request.set_sender(options.sender);
  if (options.key) request.set_key(*options.key);
  co_return co_await describe(client, std::move(request));
}

Task<Result<protocol::SessionRow>> patch(client::Client& client, std::string id,
                                         json::object fields) {
  protocol::ClientMessage message;
  message.mutable_patch_session()->set_id(std::move(id));
  message.mutable_patch_session()->set_patch(json::write(fields));
  co_return co_await client.change_session(std::move(message));
}

Task<Status> compact(client::Client& client, std::string id, std::string instructions) {
  protocol::ClientMessage message;
  message.mutable_compact()->set_session_id(std::move(id));
  message.mutable_compact()->set_instructions(std::move(instructions));
  REEF_CO_TRY(
      const auto answer,
      co_await client.request(std::move(message), client::Client::Repeat::never, kCompactPatience));
  const auto& done = answer.compact();
  print_line(fmt::format("{} message(s) summarised: about {} tokens before, {} now",
                         done.messages(), short_count(done.tokens_before()),
                         short_count(done.tokens_after())));
  co_return Ok{};
}

// Prints a setting of the session, or changes it.
Task<Status> change(client::Client& client, const protocol::SessionDescription& session,
                    std::string_view what, std::string field, std::string value,
                    std::string_view now) {
  if (value.empty()) {
    print_line(fmt::format("{}: {}", what, shown(now)));
    co_return Ok{};
  }
  json::object fields;
  fields[field] = value == "default" ? json::value(nullptr) : json::value(value);
  REEF_CO_CHECK(co_await patch(client, session.session().id(), std::move(fields)));
  print_line(fmt::format("{}: {}", what, shown(value)));
  co_return Ok{};
}

Task<Status> set_model(client::Client& client, const protocol::SessionDescription& session,
                       std::string name) {
  if (!name.empty() && name != "default") {
    protocol::ClientMessage message;
    message.mutable_list_models();
    REEF_CO_TRY(
        const auto answer,
        co_await client.request(std::move(message), client::Client::Repeat::safe, kAnswerMax));
    const auto& models = answer.model_list().models();
    const bool known = std::any_of(models.begin(), models.end(), [&](const auto& model) {
      return model.name() == name || model.provider() == name || model.name().ends_with("/" + name);
    });
    const bool models_to_have = std::any_of(models.begin(), models.end(), [](const auto& model) {
      return model.provider() != "local";
    });
    if (!known && !models_to_have)
      co_return Error(Errc::not_found, fmt::format("no provider is set up that could have '{}'; "
                                                   "`reef setup` adds one. Nothing was changed",
                                                   shown(name)));
    if (!known)
      print_line(fmt::format("'{}' is in no list of `reef models`; it is tried all the same",
                             shown(name)));
  }
  co_return co_await change(client, session, "model", "modelOverride", std::move(name),
                            session.model());
}

Task<Status> move_to(client::Client& client, const ChatOptions& options, std::string id) {
  protocol::ClientMessage message;
  auto& request = *message.mutable_resume_session();
  request.set_id(std::move(id));
  if (options.key) {
    request.set_key(*options.key);
  } else {
    // The key of this conversation. Before the first message it has no session; the other session
    // then keeps its own key.
    const auto here = co_await current(client, options);
    if (here && !here->session().key().empty()) request.set_key(here->session().key());
  }
  REEF_CO_TRY(const auto row, co_await client.change_session(std::move(message)));
  print_line(fmt::format("now in {}  {}", row.id(),
                         shown(row.title().empty() ? row.preview() : row.title())));
  co_return Ok{};
}

Task<Status> fork(client::Client& client, const ChatOptions& options, std::string id,
                  std::string at) {
  protocol::ClientMessage message;
  message.mutable_fork_session()->set_id(std::move(id));
  message.mutable_fork_session()->set_at(std::move(at));
  REEF_CO_TRY(const auto row, co_await client.change_session(std::move(message)));
  co_return co_await move_to(client, options, row.id());
}

}  // namespace

std::optional<SlashCommand> slash_command(std::string_view line) {
  const auto words = utf8::single_line(line);
  if (words.size() < 2 || words.front() != '/') return std::nullopt;
  const auto end = std::min(words.find(' '), words.size());
  SlashCommand out{utf8::lower_ascii(std::string_view(words).substr(1, end - 1)),
                   end < words.size() ? words.substr(end + 1) : std::string()};
  if (out.name == "exit") out.name = "quit";
  if (out.name == "new" || out.name == "reset") return std::nullopt;
  const bool known = std::any_of(std::begin(kCommands), std::end(kCommands),
                                 [&](const Known& one) { return one.name == out.name; });
  if (!known) return std::nullopt;
  return out;
}

Task<Status> run_slash(const Context& context, client::Client& client, const ChatOptions& options,
                       SlashCommand command, ChatState& state) {
  auto& [name, arguments] = command;
  arguments = utf8::sanitize(arguments);
  if (name == "help") {
    print_help();
    co_return Ok{};
  }
  if (name == "quit") {
    state.leave = true;
    co_return Ok{};
  }
  if (name == "verbose") {
    if (!arguments.empty() && arguments != "on" && arguments != "off")
      co_return Error(Errc::invalid, "/verbose takes on or off");
    state.verbose = arguments.empty() ? !state.verbose : arguments == "on";
    print_line(state.verbose ? "verbose: on" : "verbose: off");
    co_return Ok{};
  }
  if (name == "stop") {
    REEF_CO_CHECK(co_await client.kill(options.agent, options.sender));
    print_line("stopped");
    co_return Ok{};
  }
  if (name == "resume") {
    if (arguments.empty())
      co_return Error(Errc::invalid, "/resume needs a session id; reef sessions lists them");
    co_return co_await move_to(client, options, std::move(arguments));
  }
  REEF_CO_TRY(const auto session, co_await current(client, options));
  const auto id = session.session().id();
  if (name == "status") {
    print_session(context, session);
    co_return Ok{};
  }
  if (name == "context") co_return co_await show_window(context, client, id);
  if (name == "compact") co_return co_await compact(client, id, std::move(arguments));
  if (name == "title")
    co_return co_await change_title(context, client, id, std::move(arguments), true);
  if (name == "model") co_return co_await set_model(client, session, std::move(arguments));
  if (name == "think")
    co_return co_await change(client, session, "thinking", "thinkingLevel", std::move(arguments),
                              session.thinking());
  co_return co_await fork(client, options, id, std::move(arguments));
}

Task<void> tell_compactions(client::Client& client, const ChatOptions& options, ChatState& state) {
  if (!state.verbose) co_return;
  const auto session = co_await current(client, options);
  if (!session) co_return;
  const auto tokens = session->context().tokens();
  if (session->session().id() == state.session && session->compactions() > state.compactions)
    print_line(fmt::format("(compacted: {} tokens became about {})", short_count(state.tokens),
                           short_count(tokens)));
  state.session = session->session().id();
  state.compactions = session->compactions();
  state.tokens = tokens;
}

}  // namespace reef::cli
