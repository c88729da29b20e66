#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "command_rows.h"
#include "turn_view.h"

namespace reef::cli {

class RunCommands final : public CommandGroup {
 public:
  RunCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App *questions = nullptr, *answer = nullptr, *steer = nullptr, *kill = nullptr;
    std::string agent, sender, text;
    std::vector<std::string> words;
    std::optional<std::string> key;
    bool all = false;
  };
  Options options_;
};

namespace {

using Repeat = client::Client::Repeat;

Task<Result<protocol::QuestionList>> pending(client::Client& client, std::string agent,
                                             std::string sender) {
  protocol::ClientMessage message;
  message.mutable_list_questions()->set_agent(std::move(agent));
  message.mutable_list_questions()->set_sender(std::move(sender));
  REEF_CO_TRY(auto answer, co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
  co_return std::move(*answer.mutable_question_list());
}

json::object to_json(const protocol::PendingQuestion& pending) {
  json::array questions;
  for (const auto& question : pending.ask().questions()) {
    json::array options;
    for (const auto& option : question.options())
      options.push_back(
          json::object{{"label", option.label()}, {"description", option.description()}});
    questions.push_back(json::object{{"question", question.question()},
                                     {"header", question.header()},
                                     {"multiSelect", question.multi_select()},
                                     {"options", std::move(options)}});
  }
  const auto& expires = pending.expires_at();
  return json::object{{"id", pending.ask().id()},
                      {"kind", pending.ask().kind()},
                      {"agent", pending.agent()},
                      {"sender", pending.sender()},
                      {"key", pending.key()},
                      {"session", pending.session_id()},
                      {"callId", pending.ask().call_id()},
                      {"askedAt", pending.asked_at()},
                      {"expiresAt", expires.empty() ? json::value(nullptr) : json::value(expires)},
                      {"questions", std::move(questions)}};
}

Task<Status> list(const Context& context, client::Client& client, std::string agent,
                  std::string sender) {
  REEF_CO_TRY(const auto all, co_await pending(client, std::move(agent), std::move(sender)));
  if (context.json) {
    json::array out;
    for (const auto& one : all.questions()) out.push_back(to_json(one));
    print_json(out);
    co_return Ok{};
  }
  if (all.questions().empty()) print_line("no questions");
  const auto now = SystemClock().now();
  for (const auto& one : all.questions()) {
    const auto asked = parse_iso(one.asked_at()).value_or(now);
    print_line(fmt::format("{}  {}  {} ago", one.ask().id(), utf8::visible(one.key()),
                           short_age(asked, now)));
    for (const auto& question : one.ask().questions())
      for (const auto& line : lines_of(question)) print_line("  " + line);
  }
  co_return Ok{};
}

// The question that is meant, when only one is open.
Task<Result<std::string>> only_question(client::Client& client, std::string agent,
                                        std::string sender, std::optional<std::string> key) {
  REEF_CO_TRY(const auto all, co_await pending(client, std::move(agent), std::move(sender)));
  std::string ids;
  int count = 0;
  for (const auto& one : all.questions()) {
    if (key && one.key() != *key) continue;
    ++count;
    ids += (ids.empty() ? "" : ", ") + one.ask().id();
  }
  if (count == 0) co_return Error(Errc::not_found, "no question is waiting");
  if (count > 1)
    co_return Error(Errc::invalid,
                    fmt::format("{} questions are waiting; name one: {}", count, ids));
  co_return ids;
}

Task<Status> answer(const Context& context, client::Client& client, std::optional<std::string> id,
                    std::string text, std::string agent, std::string sender,
                    std::optional<std::string> key) {
  if (!id) {
    REEF_CO_TRY(
        id, co_await only_question(client, std::move(agent), std::move(sender), std::move(key)));
  }
  protocol::ClientMessage message;
  message.mutable_reply_to_ask()->set_id(*id);
  message.mutable_reply_to_ask()->set_content(utf8::sanitize(text));
  co_return co_await expect_pong(context, client, std::move(message), "answered");
}

}  // namespace

RunCommands::RunCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  o.questions = add_command(app, json, "questions", "What agents wait for an answer to",
                            "reef questions --json | jq -r '.[0].id'");
  o.answer =
      add_command(app, json, "answer", "Answer a question of an agent",
                  "reef answer yes\n"
                  "  reef answer 261115-swift-river.1f3a90c2 'the blue one'\n"
                  "  reef answer 261115-swift-river.77d0b3e4 '{\"Colour\": \"blue\", \"Days\": "
                  "[\"Mon\", \"Tue\"]}'");
  o.answer
      ->add_option("ID TEXT", o.words,
                   "The question, from `reef questions`, unless only one waits; and what to say: "
                   "words, an option's number, or JSON for several questions")
      ->required()
      ->expected(1, 2);
  o.steer = add_command(app, json, "steer", "Tell a running turn something before its next step",
                        "reef steer 'use the staging server instead'");
  o.steer->add_option("TEXT", o.text, "What to say")->required();
  o.kill = add_command(app, json, "kill",
                       "Cancel what runs in a conversation; what waits there comes next",
                       "reef kill -s ci\n  reef kill --all --key agent:reef:cron");
  o.kill->add_flag("--all", o.all, "Also the messages that wait: they are kept, unanswered");
  for (auto* command : {o.questions, o.answer, o.steer, o.kill}) {
    const bool narrows = command == o.questions || command == o.answer;
    command
        ->add_option("-a,--agent", o.agent,
                     narrows ? "Only of this agent" : "Agent (default: the daemon's)")
        ->type_name("AGENT");
    command
        ->add_option("-s,--sender", o.sender,
                     narrows ? "Only of this sender" : "Sender (default: user)")
        ->type_name("SENDER");
    if (command != o.questions)
      command->add_option("--key", o.key, "Conversation key, instead of agent and sender")
          ->type_name("KEY");
  }
}

bool RunCommands::parsed() const {
  const auto& o = options_;
  return o.questions->parsed() || o.answer->parsed() || o.steer->parsed() || o.kill->parsed();
}

int RunCommands::run(const Context& context) const {
  const auto& o = options_;
  const auto ask = [&](const char* name, const std::function<Task<Status>(client::Client&)>& body) {
    return with_client(context, name, Start::never, body);
  };
  if (o.questions->parsed())
    return ask("questions",
               [&](client::Client& client) { return list(context, client, o.agent, o.sender); });
  if (o.answer->parsed()) {
    const bool named = o.words.size() == 2;
    const auto id = named ? std::optional<std::string>(o.words[0]) : std::nullopt;
    return ask("answer", [&, id](client::Client& client) {
      return answer(context, client, id, o.words.back(), o.agent, o.sender, o.key);
    });
  }
  protocol::ClientMessage message;
  const auto address = [&](auto& request) {
    request.set_agent(o.agent);
    request.set_sender(o.sender);
    if (o.key) request.set_key(*o.key);
  };
  if (o.steer->parsed()) {
    address(*message.mutable_steer_session());
    message.mutable_steer_session()->set_content(utf8::sanitize(o.text));
    return ask("steer", [&](client::Client& client) {
      return expect_pong(context, client, message, "told");
    });
  }
  address(*message.mutable_kill());
  message.mutable_kill()->set_all(o.all);
  return ask("kill", [&](client::Client& client) {
    return expect_pong(context, client, message, "cancelled");
  });
}

std::unique_ptr<CommandGroup> run_commands(CLI::App& app, bool& json) {
  return std::make_unique<RunCommands>(app, json);
}

}  // namespace reef::cli
