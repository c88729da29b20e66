#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/random.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "client/following.h"
#include "command_group.h"
#include "turn_view.h"

namespace reef::cli {

class DecisionCommands final : public CommandGroup {
 public:
  DecisionCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App *group = nullptr, *list = nullptr, *answer = nullptr, *show = nullptr;
    std::string agent, sender, session, id, text, by;
    bool history = false, follow = false;
  };
  Options options_;
};

namespace {

using Repeat = client::Client::Repeat;
using protocol::Decision;

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

json::object to_json(const Decision& decision) {
  json::array questions;
  for (const auto& question : decision.ask().questions()) {
    json::array options;
    for (const auto& option : question.options())
      options.push_back(
          json::object{{"label", option.label()}, {"description", option.description()}});
    questions.push_back(json::object{{"question", question.question()},
                                     {"header", question.header()},
                                     {"multiSelect", question.multi_select()},
                                     {"options", std::move(options)}});
  }
  return json::object{{"id", decision.id()},
                      {"kind", decision.kind()},
                      {"state", decision.state()},
                      {"agent", decision.agent()},
                      {"sender", decision.sender()},
                      {"key", decision.key()},
                      {"session", decision.session_id()},
                      {"callId", text_or_null(decision.ask().call_id())},
                      {"plan", text_or_null(decision.plan())},
                      {"askedAt", text_or_null(decision.asked_at())},
                      {"expiresAt", text_or_null(decision.expires_at())},
                      {"questions", std::move(questions)},
                      {"answer", text_or_null(decision.answer())},
                      {"answeredBy", text_or_null(decision.answered_by())},
                      {"answeredFrom", text_or_null(decision.answered_from())},
                      {"settledAt", text_or_null(decision.settled_at())},
                      {"reason", text_or_null(decision.reason())}};
}

void print(const Decision& decision, TimePoint now) {
  const auto asked = parse_iso(decision.asked_at()).value_or(now);
  print_line(fmt::format("{}  {}  {}  {} ago", shown(decision.id()), shown(decision.kind()),
                         shown(decision.key()), short_age(asked, now)));
  for (const auto& question : decision.ask().questions())
    for (const auto& line : lines_of(question)) print_line("  " + line);
  if (decision.state() == "answered")
    print_line(fmt::format("  answered '{}' by {} over {} at {}", shown(decision.answer()),
                           shown(decision.answered_by()), shown(decision.answered_from()),
                           shown(decision.settled_at())));
  if (decision.state() == "closed")
    print_line(
        fmt::format("  closed at {}: {}", shown(decision.settled_at()), shown(decision.reason())));
}

Task<Status> list(const Context& context, client::Client& client, protocol::ListDecisions request) {
  json::array out;
  std::size_t count = 0;
  const auto now = SystemClock().now();
  do {
    protocol::ClientMessage message;
    *message.mutable_list_decisions() = request;
    REEF_CO_TRY(const auto answer,
                co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
    const auto& page = answer.decision_list();
    for (const auto& decision : page.decisions()) {
      ++count;
      if (context.json) {
        out.push_back(to_json(decision));
      } else {
        print(decision, now);
      }
    }
    request.set_cursor(page.cursor());
  } while (!request.cursor().empty());
  if (context.json) print_json(out);
  if (!context.json && count == 0) print_line("nothing to decide");
  co_return Ok{};
}

// Shows waiting decisions, then every one that comes or is settled, until interrupted.
Task<Status> follow(const Context& context, client::Client& client, protocol::ListDecisions query) {
  protocol::ClientMessage request;
  auto& what = *request.mutable_follow_decisions();
  what.set_session_id(query.session_id());
  what.set_agent(query.agent());
  what.set_sender(query.sender());
  client::Following following(client, std::move(request));
  for (bool first = true;; first = false) {
    REEF_CO_TRY(const auto answer, co_await following.next());
    if (!answer) co_return Ok{};
    const auto& news = answer->decisions_news();
    const auto& why = news.place().start_over();
    if (!why.empty() && context.json) print_json(json::object{{"startOver", why}});
    if (!why.empty() && !first && !context.json)
      print_line(fmt::format("--- from the beginning: {}", shown(why)));
    const auto now = SystemClock().now();
    for (const auto& decision : news.decisions()) {
      if (context.json) {
        print_json(json::object{{"decision", to_json(decision)}});
      } else {
        print(decision, now);
      }
    }
    for (const auto& id : news.gone()) {
      if (context.json) {
        print_json(json::object{{"gone", id}});
      } else {
        print_line(fmt::format("{}  is not there any more", shown(id)));
      }
    }
    std::fflush(stdout);
    if (std::ferror(stdout)) co_return Ok{};
  }
}

Task<Status> answer(const Context& context, client::Client& client,
                    protocol::AnswerDecision request) {
  protocol::ClientMessage message;
  *message.mutable_answer_decision() = std::move(request);
  // So that it can be asked again on a connection that broke.
  SystemRandom random;
  message.set_client_id("reef-" + random.hex(24));
  REEF_CO_TRY(const auto done,
              co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
  if (context.json) {
    print_json(to_json(done.decision()));
  } else {
    print_line("answered");
  }
  co_return Ok{};
}

}  // namespace

DecisionCommands::DecisionCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  const auto add = [&](CLI::App& parent, const char* name, const char* what, const char* examples) {
    auto* command = parent.add_subcommand(name, what);
    command->add_flag("--json", json, "Print JSON (docs/cli.md tells the shape)");
    command->footer(std::string("Examples:\n") + examples);
    return command;
  };
  o.group = add(app, "decisions",
                "What waits for you, in all sessions: permissions, questions, plans, failed turns",
                "  reef decisions\n"
                "  reef decisions --follow --json\n"
                "  reef decisions answer 261115-swift-river.1f3a90c2 yes\n"
                "  reef decisions --session 261115-swift-river --history\n");
  o.group->require_subcommand(0, 1);
  o.list = add(*o.group, "ls", "The same as without a command", "  reef decisions ls --json\n");
  for (auto* command : {o.group, o.list}) {
    command->add_option("-a,--agent", o.agent, "Only of this agent")->type_name("AGENT");
    command->add_option("-s,--sender", o.sender, "Only of this sender")->type_name("SENDER");
    command->add_option("--session", o.session, "Only of this session")->type_name("ID");
    command->add_flag("--history", o.history, "With --session: also what was decided there");
    command->add_flag("-f,--follow", o.follow,
                      "Go on with what comes and what is decided, until interrupted");
  }
  o.answer = add(*o.group, "answer", "Answer one; there is one answer, and it is kept",
                 "  reef decisions answer 261115-swift-river.1f3a90c2 always\n"
                 "  reef decisions answer 261115-swift-river.1f3a90c2 'no, look first'\n");
  o.show = add(*o.group, "show", "One of them, whatever became of it",
               "  reef decisions show 261115-swift-river.1f3a90c2\n");
  for (auto* command : {o.answer, o.show})
    command->add_option("DECISION", o.id, "From `reef decisions`")->required();
  o.answer
      ->add_option("TEXT", o.text,
                   "An option or its number, yes, no, other words, or JSON for several questions")
      ->required();
  o.answer->add_option("--by", o.by, "Who answers (default: user)")->type_name("NAME");
}

bool DecisionCommands::parsed() const {
  return options_.group->parsed();
}

int DecisionCommands::run(const Context& context) const {
  const auto& o = options_;
  if (o.answer->parsed()) {
    protocol::AnswerDecision request;
    request.set_id(utf8::sanitize(o.id));
    request.set_answer(utf8::sanitize(o.text));
    request.set_by(utf8::sanitize(o.by));
    return with_client(context, "decisions answer", Start::if_needed,
                       [&](client::Client& client) { return answer(context, client, request); });
  }
  if (o.history && o.session.empty()) {
    report("decisions", Error(Errc::invalid,
                              "--history needs --session ID: it tells what was decided in one "
                              "session (`reef sessions` lists them)"));
    return 2;
  }
  if (o.history && o.follow) {
    report("decisions",
           Error(Errc::invalid, "--history tells what was, --follow what comes: give one of them"));
    return 2;
  }
  protocol::ListDecisions request;
  if (o.show->parsed()) {
    request.set_id(utf8::sanitize(o.id));
  } else {
    request.set_agent(o.agent);
    request.set_sender(o.sender);
    request.set_session_id(o.session);
    request.set_history(o.history);
  }
  return with_client(context, "decisions", Start::if_needed, [&](client::Client& client) {
    return o.follow ? follow(context, client, request) : list(context, client, request);
  });
}

std::unique_ptr<CommandGroup> decision_commands(CLI::App& app, bool& json) {
  return std::make_unique<DecisionCommands>(app, json);
}

}  // namespace reef::cli
