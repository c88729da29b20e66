// A runtime with compactions and a model whose window is strict, on a store in memory.
#pragma once

#include <deque>

#include <fmt/format.h>

#include "base/notify.h"
#include "context/summary.h"
#include "runtime/stage.h"

namespace reef::runtime {

// A model that counts one token for four bytes, refuses a request over its window, and reports its
// count.
class StrictModel final : public model::Provider {
 public:
  explicit StrictModel(Executor loop) : go_on_(std::move(loop)) {}

  std::string_view api() const override { return "test"; }
  Task<model::Outcome> stream(const model::Request& request,
                              const model::DeltaSink& sink) override {
    co_await yield_to_loop();
    requests.push_back(request);
    const auto tokens = count(request);
    if (window > 0 && tokens > window) {
      ++overflows;
      model::Failure failure;
      failure.kind = model::Failure::Kind::context_overflow;
      failure.message = fmt::format("{} tokens, and the window has {}", tokens, window);
      co_return failure;
    }
    const bool summary = request.system == context::summary_system();
    if (summary) ++summaries;
    while (summary && hold_summaries) co_await go_on_.wait();
    if (summary && !summary_words) {
      model::Failure failure;
      failure.message = "no summary today";
      co_return failure;
    }
    model::Reply reply;
    auto text = summary ? *summary_words : words;
    if (!summary && !script.empty()) {
      text = script.front();
      script.pop_front();
    }
    if (text.starts_with("call ")) {
      reply.message.content.push_back(session::ToolCallBlock{
          fmt::format("c{}", requests.size()), "echo", {{"text", text.substr(5)}}});
      reply.message.stop_reason = session::StopReason::tool_use;
    } else {
      for (std::size_t at = 0; at < text.size(); at += piece)
        sink({model::Delta::Kind::text, text.substr(at, piece)});
      reply.message.content.push_back(session::TextBlock{text});
    }
    if (reports) {
      reply.message.usage.input = tokens;
      reply.message.usage.output = static_cast<std::int64_t>(text.size() / 4);
    }
    co_return reply;
  }

  static std::int64_t count(const model::Request& request) {
    auto bytes = request.system.size();
    for (const auto& tool : request.tools)
      bytes += tool.name.size() + tool.description.size() + json::write(tool.parameters).size();
    for (const auto& message : request.messages) {
      bytes += session::text_of(*message).size();
      if (const auto* reply = std::get_if<session::AssistantMessage>(&*message))
        for (const auto& block : reply->content)
          if (const auto* call = std::get_if<session::ToolCallBlock>(&block))
            bytes += json::write(call->arguments).size();
    }
    return static_cast<std::int64_t>(bytes / 4);
  }
  void release() {
    hold_summaries = false;
    go_on_.notify_all();
  }

  std::int64_t window = 0;
  std::string words = "well";
  std::deque<std::string> script;  // said before `words`; "call X" calls echo
  std::optional<std::string> summary_words = "## Goal\nGo on.";
  bool reports = true;
  bool hold_summaries = false;
  std::size_t piece = 3;
  int overflows = 0, summaries = 0;
  std::vector<model::Request> requests;

 private:
  Notify go_on_;
};

class WindowStage : public Stage {
 protected:
  WindowStage() { has_threads = true; }
  ~WindowStage() override {
    model->release();
    hook->release();
    finish(runtime.drain(std::chrono::milliseconds(0)));
    finish(compactions.stop());
  }

  // `window` is the model's real limit; `configured` is what the configuration says.
  void set_up(std::int64_t window, std::int64_t configured) {
    model->window = window;
    model::Providers::Entry entry;
    entry.name = "s";
    entry.provider = model;
    entry.facts = [configured](std::string_view id) {
      model::ModelFacts facts;
      facts.id = id;
      facts.context_window = configured;
      return facts;
    };
    setup->providers = {};
    ASSERT_TRUE(setup->providers.add(std::move(entry)));
    Agent agent;
    agent.name = "reef";
    agent.model = "s/x";
    setup->agents["reef"] = agent;
    runtime.configure(setup);
  }
  void set_up(std::int64_t window) { set_up(window, window); }

  struct Turned {
    std::string text;
    End end;
    std::vector<ContextUsage> usage;
    bool text_started = false;
  };
  Turned turn(Message message) {
    Turned out;
    for (auto& event : test::run(io, read(test::value_of(runtime.submit(std::move(message)))))) {
      if (const auto* chunk = std::get_if<Chunk>(&event)) out.text += chunk->text;
      if (const auto* usage = std::get_if<ContextUsage>(&event)) out.usage.push_back(*usage);
      if (std::holds_alternative<TextStart>(event)) out.text_started = true;
      if (auto* end = std::get_if<End>(&event)) out.end = std::move(*end);
    }
    return out;
  }
  Turned turn(const std::string& words) { return turn(Message{"reef", "user", words, "/work"}); }
  Turned hidden_turn(const std::string& words) {
    Message message{"reef", "user", words, "/work"};
    message.hidden = true;
    return turn(std::move(message));
  }

  session::SessionId id() const {
    return *sessions.current(*session::Key::of_pair("reef", "user"));
  }
  session::Transcript transcript() {
    return session::Transcript(session::read_transcript(store.raw().at(id())));
  }
  std::size_t entries_of(std::string_view type) {
    const auto all = transcript();
    return static_cast<std::size_t>(
        std::count_if(all.entries().begin(), all.entries().end(),
                      [&](const session::Entry& entry) { return entry.type == type; }));
  }
  Compactions::Request request() const { return {id(), setup->agents.at("reef"), setup}; }

  std::shared_ptr<StrictModel> model = std::make_shared<StrictModel>(io.get_executor());
  std::shared_ptr<runtime::Setup> setup = std::make_shared<runtime::Setup>();
};

}  // namespace reef::runtime
