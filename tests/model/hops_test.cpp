// A conversation that changes its provider in mid-session, with tool calls in every part: each
// service judges every request as strictly as the real one would.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "local/local.h"
#include "model/backends.h"
#include "model/histories.h"
#include "model/http_provider.h"
#include "support/run.h"

namespace reef::model {
namespace {

using reef::test::user_says;
using test::Script;

session::MessagePtr as_message(session::AssistantMessage message) {
  // The message goes through the transcript's JSON, as it would in a session.
  return std::make_shared<const session::Message>(
      session::message_from_json(session::to_json(session::Message(std::move(message)))));
}

// A reply with calls: ids that other backends would never make, a parallel call, and a name that
// not every API takes.
Script asks_for_tools(std::size_t hop) {
  Script script;
  script.blocks = {Script::Thinking{{"Which files?"}, "c2lnbmVk"},
                   Script::Text{{fmt::format("Looking, part {}.", hop)}},
                   Script::Call{fmt::format("toolu_{}|{}", hop, std::string(60, 'x')), "ls", {}},
                   Script::Call{"call_0", "mcp_git_status", {R"({"deep":true})"}},
                   Script::Call{"call_1", "ls", {R"({"path":"/"})"}}};
  script.stop = Script::Stop::tools;
  return script;
}

Script answers() {
  Script script;
  script.blocks = {Script::Thinking{{"So."}, "c2lnbmVk"}, Script::Text{{"Two files."}}};
  return script;
}

Request beginning() {
  Request request;
  request.system = "You are a crab.";
  request.thinking = ThinkingLevel::medium;
  json::object parameters{{"type", "object"},
                          {"properties", json::object{{"path", json::object{{"type", "string"}}}}}};
  request.tools = {{"ls", "List a folder", parameters},
                   {"mcp.git/status", "The state of a repository", {}}};
  return request;
}

// The results of the last reply's calls: one is an error with a picture, the last never comes.
void run_tools(Request& request, const session::AssistantMessage& reply) {
  std::size_t number = 0;
  for (const auto& block : reply.content) {
    const auto* call = std::get_if<session::ToolCallBlock>(&block);
    if (!call || ++number == 3) continue;
    session::ToolResultMessage result;
    result.tool_call_id = call->id;
    result.tool_name = call->name;
    result.is_error = number == 2;
    result.content.push_back(session::TextBlock{"a.txt\nb.txt"});
    if (result.is_error) result.content.push_back(session::ImageBlock{"iVBORw0KGgo=", "image/png"});
    request.messages.push_back(std::make_shared<const session::Message>(result));
  }
}

// Plays one part of the conversation: the user asks, the model calls tools, sees their results and
// answers. `call` makes one model call.
template <class Call>
void one_part(Request& request, std::size_t hop, std::string_view api, const Call& call) {
  request.messages.push_back(user_says(fmt::format("Question {}", hop)));
  for (const auto& script : {asks_for_tools(hop), answers()}) {
    const Outcome outcome = call(script);
    ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << std::get<Failure>(outcome).message;
    auto reply = std::get<Reply>(outcome).message;
    reply.api = api;
    request.messages.push_back(as_message(reply));
    run_tools(request, reply);
  }
}

ModelFacts facts_of(std::string_view model) {
  ModelFacts facts;
  facts.id = model;
  facts.thinking = true;
  facts.max_output = 64'000;
  return facts;
}

TEST(Hops, AConversationGoesFromProviderToProvider) {
  boost::asio::io_context io(1);
  reef::test::FakeHttp server(io.get_executor());
  http::Client client(io.get_executor());
  Pool pool(1);
  SystemClock clock;
  SeededRandom random(7);
  auto request = beginning();
  request.model = "asked-model";
  std::size_t hop = 0;
  for (const auto& backend :
       {test::anthropic_messages(), test::openai_responses(), test::google_gemini(),
        test::bedrock_converse(), test::openai_chat(), test::anthropic_messages()}) {
    SCOPED_TRACE(backend.name);
    HttpProvider provider(HttpNeeds{client, pool, clock, random},
                          [&](const std::string& key) { return backend.codec(server.url(), key); },
                          key_source_from("sk-test"), facts_of, {});
    one_part(request, ++hop, provider.api(), [&](const Script& script) {
      server.on_request = [&](const reef::test::SeenRequest& seen) {
        EXPECT_EQ(backend.judge(seen), "") << seen.body;
        auto reply = reef::test::event_stream({backend.stream(script)});
        reply.headers = {{"Content-Type", backend.content_type}};
        return reply;
      };
      const DeltaSink sink = [](const Delta&) {};
      return reef::test::run(io, provider.stream(request, sink));
    });
    // Nothing is lost on the way: the last request holds the words of every part.
    const auto& seen = server.requests().back().body;
    for (std::size_t part = 1; part <= hop; ++part)
      EXPECT_NE(seen.find(fmt::format("Looking, part {}.", part)), std::string::npos);
  }
  EXPECT_EQ(server.requests().size(), 12U);

  local::LocalProvider local;
  request.messages.push_back(user_says("What did I say?"));
  const DeltaSink sink = [](const Delta&) {};
  const auto outcome = reef::test::run(io, local.stream(request, sink));
  EXPECT_NE(session::text_of(std::get<Reply>(outcome).message.content).find("Question 6"),
            std::string::npos);
  reef::test::run(io, client.stop());
  reef::test::run(io, server.stop());
}

// Each backend hands over to each other one and back, with every model name it treats differently.
TEST(Hops, EveryProviderTakesOverFromEveryOther) {
  const auto backends = test::all_backends();
  for (const auto& first : backends)
    for (const auto& second : backends) {
      auto request = beginning();
      std::size_t hop = 0;
      for (const auto* backend : {&first, &second, &first})
        for (const auto& model : backend->models) {
          SCOPED_TRACE(fmt::format("{} -> {}, {}", first.name, second.name, model));
          const auto codec = backend->codec("http://127.0.0.1:1", "sk-test");
          request.model = model;
          one_part(request, ++hop, codec->api(), [&](Script script) -> Outcome {
            const auto http = codec->encode(request, facts_of(model), TimePoint());
            const auto body = json::parse(http.body);
            EXPECT_TRUE(body);
            EXPECT_EQ(backend->validate(*body), "") << http.body;
            script.model = model;
            const auto decoder = codec->decoder(request, facts_of(model));
            const DeltaSink sink = [](const Delta&) {};
            if (auto failure = decoder->take(backend->stream(script), sink)) return *failure;
            return decoder->finish();
          });
          ASSERT_FALSE(HasFailure());
        }
    }
}

}  // namespace
}  // namespace reef::model
