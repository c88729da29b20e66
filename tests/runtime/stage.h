// A runtime on a store in memory, with a scripted model and tools that do what they are told.
#pragma once

#include <gtest/gtest.h>

#include "base/notify.h"
#include "model/scripted/scripted.h"
#include "runtime/compaction.h"
#include "runtime/runtime.h"
#include "store/fs/fs_documents.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/manual_clock.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::runtime {

// echo says its `text`, after its `progress`; wait waits for `release()` or for ever; ask asks its
// `text` and says the answer; picture answers with an image; fail fails; throw throws.
class TestHook final : public Hook {
 public:
  explicit TestHook(Executor loop) : released_(std::move(loop)) {}

  std::vector<model::Tool> tools(const Agent& agent) const override {
    std::vector<model::Tool> out;
    for (const auto* name : {"wait", "echo", "fail", "throw", "ask", "picture"})
      out.push_back({name, "", {{"type", "object"}}});
    if (agent.name == "chief") out.push_back({"order", "", {{"type", "object"}}});
    return out;
  }
  std::string prompt(const Agent&) const override { return "<test>use echo</test>"; }
  Intent intent(const std::string&, const json::object&, const Caller&) const override {
    return Intent{Intent::Effect::reads};
  }
  Task<ToolAnswer> call(std::string tool, json::object arguments, Caller caller) override {
    callers.push_back(caller);
    const std::string text(json::find_string(arguments, "text").value_or("nothing"));
    if (const auto* pieces = json::find_array(arguments, "progress"))
      for (const auto& piece : *pieces) caller.progress(std::string(piece.get_string()));
    if (tool == "fail") co_return ToolAnswer{"it broke", true};
    if (tool == "throw") throw std::runtime_error("boom");
    if (tool == "ask") co_return co_await ask(text, std::move(caller));
    if (tool == "picture")
      co_return ToolAnswer{"a dot", false, {{"aGk=", "image/png"}}, {{"width", 1}}};
    if (tool == "wait") {
      ++waiting;
      while (!go) co_await released_.wait();
    }
    co_return ToolAnswer{text};
  }

  void release() {
    go = true;
    released_.notify_all();
  }

  std::vector<Caller> callers;
  int waiting = 0;
  bool go = false;
  std::chrono::milliseconds patience{0};

 private:
  Task<ToolAnswer> ask(std::string text, Caller caller) {
    Ask question;
    question.questions.push_back({text, "Q", {{"red", ""}, {"blue", ""}}, false});
    question.patience = patience;
    const auto answers = co_await caller.ask(std::move(question));
    if (!answers) co_return ToolAnswer{answers.error().what, true};
    co_return ToolAnswer{answers->at(0).at(0)};
  }

  Notify released_;
};

class Stage : public testing::Test {
 protected:
  Stage() { runtime.hooks().add(hook); }
  ~Stage() override {
    hook->release();
    finish(runtime.drain(std::chrono::milliseconds(0)));
    finish(sessions.stop());
  }

  void configure(const std::string& script, int steps_max = 16) {
    configure(std::make_shared<model::ScriptedProvider>(*model::parse_script(script)), steps_max);
  }
  void configure(std::shared_ptr<model::Provider> provider, int steps_max = 16) {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("s", std::move(provider));
    Agent agent;
    agent.name = "reef";
    agent.model = "s/x";
    agent.steps_max = steps_max;
    setup->agents["reef"] = agent;
    runtime.configure(std::move(setup));
  }
  std::shared_ptr<runtime::Run> submit(const std::string& script, int steps_max = 16) {
    configure(script, steps_max);
    return say("go");
  }
  std::shared_ptr<runtime::Run> say(const std::string& words) {
    return test::value_of(runtime.submit(Message{"reef", "user", words, "/work"}));
  }

  // Runs a task to its end. Time moves on when nothing else happens, unless there is work on other
  // threads to wait for.
  template <class T>
  T finish(Task<T> task) {
    return has_threads ? test::run(io, std::move(task)) : clock.run(std::move(task));
  }
  Task<std::vector<Event>> read(std::shared_ptr<runtime::Run> run) {
    std::vector<Event> out;
    EventLog::Place place;
    for (;;) {
      auto event = co_await run->events().next(place);
      if (event && !*event) co_return out;
      if (!event) {
        End end;
        end.error = "refused: " + event.error().what;
        out.push_back(std::move(end));
        co_return out;
      }
      out.push_back(std::move(**event));
    }
  }
  // Reads the run to its end, as "start tools(echo,echo)
  // result(x) done end".
  std::string told(std::shared_ptr<runtime::Run> run) {
    std::string out;
    for (const auto& event : finish(read(std::move(run)))) {
      if (std::holds_alternative<Start>(event)) out += "start ";
      if (const auto* start = std::get_if<ToolStart>(&event)) {
        out += "tools(";
        for (const auto& call : start->calls) out += call.name + ",";
        out.back() = ')';
        out += ' ';
      }
      if (const auto* result = std::get_if<ToolResult>(&event))
        out += (result->is_error ? "error(" : "result(") + result->output + ") ";
      if (std::holds_alternative<ToolsComplete>(event)) out += "done ";
      if (const auto* chunk = std::get_if<Chunk>(&event)) out += "'" + chunk->text + "' ";
      if (const auto* progress = std::get_if<ToolProgress>(&event))
        out += "progress(" + progress->text + ") ";
      if (const auto* ask = std::get_if<AskUser>(&event))
        out += "ask(" + ask->ask.questions.at(0).text + ") ";
      if (const auto* steered = std::get_if<UserSteered>(&event))
        out += "steered(" + steered->content + ") ";
      if (const auto* end = std::get_if<End>(&event))
        out += end->error.empty() ? "end" : "end(" + end->error + ")";
    }
    return out;
  }
  // The messages on disk.
  std::vector<session::Message> kept() {
    std::vector<session::Message> out;
    const auto id = sessions.current(*session::Key::of_pair("reef", "user"));
    if (!id) return out;
    const session::Transcript transcript(session::read_transcript(store.raw().at(*id)));
    EXPECT_TRUE(transcript.damage().empty());
    for (const auto& entry : transcript.entries())
      if (const auto message = session::message_of(entry)) out.push_back(*message);
    return out;
  }
  // The messages on disk as "role:text;".
  std::string stored() {
    std::string out;
    for (const auto& message : kept())
      out += std::string(session::role_of(message)) + ":" + session::text_of(message) + ";";
    return out;
  }

  bool has_threads = false;
  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  test::TempDir folder;
  PosixFiles files;
  Pool pool{2};
  store::FsDocuments documents{files, folder.path()};
  memory::Memories memories{io.get_executor(), documents, pool, clock};
  Compactions compactions{io.get_executor(), sessions, memories};
  std::vector<std::string> heard;  // words of users, as rules hear them
  Runtime runtime{
      io.get_executor(), sessions, clock,
      Runtime::Needs{.compactions = &compactions,
                     .on_words = [this](const session::SessionId&, const std::string& words) {
                       heard.push_back(words);
                     }}};
  std::shared_ptr<TestHook> hook = std::make_shared<TestHook>(io.get_executor());
};

}  // namespace reef::runtime
