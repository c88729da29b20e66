// One connected server: against a program, and against HTTP servers that misbehave.
#include "mcp/peer.h"

#include <gtest/gtest.h>

#include "fake.h"
#include "support/fake_http.h"
#include "support/manual_clock.h"

namespace reef::mcp {
namespace {

using reef::test::FakeReply;
using reef::test::json_reply;
using reef::test::run;
using reef::test::run_until;
using reef::test::SeenRequest;

class PeerTest : public testing::Test {
 protected:
  ~PeerTest() override {
    if (peer) run(io, peer->close());
    run(io, http.stop());
  }

  Result<std::shared_ptr<Peer>> try_connect(Spec spec) {
    Resolved server;
    server.spec = std::move(spec);
    Peer::Watch watch;
    watch.on_tools_changed = [this] {
      ++changes;
      noted.notify_all();
    };
    watch.on_closed = [this](Error why) {
      closed = why.what;
      noted.notify_all();
    };
    const Peer::Needs needs{io.get_executor(), http};
    return run(io, Peer::connect(needs, std::move(server), watch));
  }
  void connect(Spec spec) { peer = reef::test::value_of(try_connect(std::move(spec))); }

  Result<CallResult> call(const std::string& tool, json::object arguments = {},
                          CallOptions options = {}) {
    return run(io, peer->call_tool(tool, std::move(arguments), std::move(options)));
  }
  std::string text(const std::string& tool, json::object arguments = {}, CallOptions options = {}) {
    return reef::test::value_of(call(tool, std::move(arguments), std::move(options))).text;
  }

  boost::asio::io_context io{1};
  reef::test::ManualClock clock{io};
  http::Client http{io.get_executor()};
  Notify noted{io.get_executor()};
  int changes = 0;
  std::string closed;
  std::shared_ptr<Peer> peer;
};

class Eras : public PeerTest, public testing::WithParamInterface<const char*> {
 protected:
  Eras() { connect(test::fake({"--era", GetParam()})); }
  bool modern() const { return std::string_view(GetParam()) == "modern"; }
};
INSTANTIATE_TEST_SUITE_P(Both, Eras, testing::Values("legacy", "modern"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Eras, IsFoundOutByAsking) {
  EXPECT_EQ(peer->info().version, modern() ? "2026-07-28" : "2025-11-25");
  EXPECT_EQ(peer->info().server, modern() ? "fake 2" : "fake 1");
  EXPECT_EQ(peer->info().transport, "stdio");
  EXPECT_TRUE(run(io, peer->ping()));
}

TEST_P(Eras, ToolsAreListedAndCalled) {
  const auto tools = reef::test::value_of(run(io, peer->list_tools()));
  ASSERT_EQ(tools.front().name, "echo");
  EXPECT_TRUE(tools.front().read_only);
  EXPECT_EQ(text("echo", {{"text", "h\xC3\xA9llo"}}), "h\xC3\xA9llo");
  EXPECT_EQ(text("structured"), R"({"answer":42})");
  const auto image = reef::test::value_of(call("image"));
  ASSERT_EQ(image.images.size(), 1U);
  EXPECT_EQ(image.images[0].mime_type, "image/png");
  EXPECT_TRUE(reef::test::value_of(call("fail")).is_error);
  EXPECT_EQ(text("big").size(), 1U << 20);
  const auto unknown = call("nonsense");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::unsupported);
  EXPECT_FALSE(call("whine")) << "a result that is no object";
}

TEST_P(Eras, ProgressIsTold) {
  std::vector<std::string> told;
  CallOptions options;
  options.progress = [&](const Progress& progress) { told.push_back(progress.message); };
  EXPECT_EQ(text("progress", {}, options), "done");
  EXPECT_EQ(told, (std::vector<std::string>{"step 1", "step 2", "step 3", "step 4"}));
}

Task<Elicited> answer(Elicitation question) {
  Elicited out;
  out.action = Elicited::Action::accept;
  out.content = {{"asked", question.message}};
  co_return out;
}

TEST_P(Eras, AServersQuestionGoesToTheCaller) {
  CallOptions options;
  options.elicit = answer;
  EXPECT_EQ(text("ask", {}, options),
            R"({"action": "accept", "content": {"asked": "Who are you?"}})");
  EXPECT_EQ(text("ask"), R"({"action": "cancel"})") << "nobody is there to ask";
}

TEST_P(Eras, RootsAreTheFolderItWorksIn) {
  EXPECT_EQ(text("asks", {{"method", "roots/list"}}), R"({"roots": []})");
  run(io, peer->close());
  const reef::test::TempDir folder;
  auto spec = test::fake({"--era", GetParam()});
  spec.cwd = folder.path();
  connect(spec);
  const auto told = *json::parse(text("asks", {{"method", "roots/list"}}));
  ASSERT_EQ(told.at("roots").as_array().size(), 1U);
  EXPECT_EQ(told.at("roots").at(0).at("uri").as_string(), "file://" + folder.path());
}

TEST_P(Eras, APageToVisitIsAskedAboutAndAnsweredWithoutContent) {
  std::string page, asked;
  CallOptions options;
  options.elicit = [&](Elicitation question) -> Task<Elicited> {
    page = question.url;
    asked = question.message;
    Elicited out;
    out.action = Elicited::Action::accept;
    out.content = {{"secret", "never sent"}};
    co_return out;
  };
  json::object arguments{{"method", "elicitation/create"},
                         {"params", json::object{{"mode", "url"},
                                                 {"message", "Please sign in"},
                                                 {"url", "https://example.org/in?x=1"}}}};
  EXPECT_EQ(text("asks", arguments, options), R"({"action": "accept"})");
  EXPECT_EQ(page, "https://example.org/in?x=1");
  EXPECT_EQ(asked, "Please sign in");
}

TEST_P(Eras, UnsupportedRequestsAreRefusedAndHangNobody) {
  const auto answer = call("asks", {{"method", "sampling/createMessage"}});
  if (modern()) {
    EXPECT_FALSE(answer) << "it cannot be given what it asks for";
  } else {
    ASSERT_TRUE(answer);
    EXPECT_NE(answer->text.find("-32601"), std::string::npos) << answer->text;
    EXPECT_EQ(text("asks", {{"method", "ping"}}), "{}");
  }
  EXPECT_EQ(text("echo", {{"text", "still there"}}), "still there");
}

TEST_F(PeerTest, AServerThatLogsIsToldFromWhichLevelOn) {
  connect(test::fake());
  std::string level;
  for (int i = 0; i < 100 && level != "warning"; ++i) level = text("level");
  EXPECT_EQ(level, "warning");
}

// A program does not say which call its question belongs to, so a call that ends first must not
// take the question with it.
TEST_P(Eras, AQuestionOutlivesOtherCallsOfItsOwner) {
  std::vector<std::string> said;
  bool asked = false;
  const auto note = [](Peer& to, std::string tool, std::vector<std::string>& into, bool& is_asked,
                       Notify& ended) -> Task<void> {
    co_await yield_to_loop();
    CallOptions options;
    options.owner = "one";
    // The question is answered after the other call has ended.
    options.elicit = [&is_asked, &ended, &into](Elicitation) -> Task<Elicited> {
      is_asked = true;
      while (into.empty()) co_await ended.wait();
      co_return Elicited{Elicited::Action::decline, {}};
    };
    const auto result = co_await to.call_tool(tool, {}, options);
    into.push_back(result ? result->text : result.error().what);
    ended.notify_all();
  };
  TaskGroup calls(io.get_executor(), "calls");
  calls.spawn(note(*peer, "ask", said, asked, noted));
  calls.spawn(note(*peer, "slow", said, asked, noted));
  ASSERT_TRUE(run_until(io, [&] { return asked; }));
  EXPECT_EQ(text("release"), "released");
  run(io, calls.join());
  EXPECT_EQ(said, (std::vector<std::string>{"slept", R"({"action": "decline"})"}));
}

Task<void> keep_calling(Peer& to, std::string owner, std::vector<std::string>& asked) {
  co_await yield_to_loop();
  CallOptions options;
  options.owner = owner;
  options.elicit = [owner, &asked](Elicitation) -> Task<Elicited> {
    asked.push_back(owner);
    co_return Elicited{};
  };
  static_cast<void>(
      co_await to.call_tool(owner == "asks" ? "ask" : "slow", {}, std::move(options)));
}

TEST_F(PeerTest, AQuestionThatMayBeSomebodyElsesIsPutToNobody) {
  connect(test::fake());
  std::vector<std::string> asked;
  TaskGroup calls(io.get_executor(), "calls");
  calls.spawn(keep_calling(*peer, "other", asked));
  calls.spawn(keep_calling(*peer, "asks", asked));
  EXPECT_TRUE(run_until(io, [&] { return calls.size() == 1; })) << "it asked and got no answer";
  EXPECT_EQ(text("release"), "released");
  run(io, calls.join());
  EXPECT_TRUE(asked.empty());
}

// CrabTalk's P3: one slow call held up all others. Its C13: answers are matched by their ids.
TEST_P(Eras, P3C13ASlowCallHoldsUpNobodyAndAnswersGoToWhoAsked) {
  std::vector<std::string> order;
  const auto note = [](Peer& to, std::string tool, json::object arguments, std::string word,
                       std::vector<std::string>& into) -> Task<void> {
    co_await yield_to_loop();
    const auto result = co_await to.call_tool(tool, std::move(arguments), {});
    into.push_back(word + ":" + (result ? result->text : result.error().what));
  };
  TaskGroup calls(io.get_executor(), "calls");
  json::object quick{{"text", "a"}}, quicker{{"text", "b"}};
  calls.spawn(note(*peer, "slow", {}, "slow", order));
  calls.spawn(note(*peer, "echo", quick, "a", order));
  calls.spawn(note(*peer, "echo", quicker, "b", order));
  ASSERT_TRUE(run_until(io, [&] { return order.size() == 2; }));
  EXPECT_EQ(text("release"), "released");
  run(io, calls.join());
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(order[2], "slow:slept");
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order[0], "a:a");
  EXPECT_EQ(order[1], "b:b");
}

TEST_P(Eras, ACallThatIsNotWantedAnyMoreIsCancelledThere) {
  const auto forever = [](Peer& to) -> Task<void> {
    co_await yield_to_loop();
    json::object arguments{{"seconds", 25}};
    static_cast<void>(co_await to.call_tool("slow", std::move(arguments), {}));
  };
  TaskGroup calls(io.get_executor(), "calls");
  calls.spawn(forever(*peer));
  EXPECT_EQ(text("echo", {{"text", "it is under way"}}), "it is under way");
  calls.cancel();
  run(io, calls.join());
  std::string seen;
  for (int i = 0; i < 100 && seen.size() <= 2; ++i) seen = text("cancelled");
  EXPECT_GT(seen.size(), 2U) << "the server was told";
}

TEST_F(PeerTest, ACallThatTakesTooLongFailsAndALateAnswerIsNobodys) {
  auto spec = test::fake();
  spec.timeout = std::chrono::minutes(5);
  connect(spec);
  std::optional<Result<CallResult>> late;
  TaskGroup calls(io.get_executor(), "calls");
  calls.spawn(reef::test::store_result(peer->call_tool("slow", {}, {}), late));
  clock.advance(std::chrono::seconds(299));
  EXPECT_FALSE(late);
  clock.advance(std::chrono::seconds(1));
  ASSERT_TRUE(late && !*late);
  EXPECT_EQ(late->error().code, Errc::timeout);
  EXPECT_EQ(text("release"), "released");
  EXPECT_EQ(text("echo", {{"text", "next"}}), "next");
}

TEST_F(PeerTest, PagesAreFollowedToTheEnd) {
  connect(test::fake({"--pages", "5"}));
  EXPECT_EQ(reef::test::value_of(run(io, peer->list_tools())).size(), 17U);
}

TEST_F(PeerTest, ResourcesAndPromptsAreRead) {
  connect(test::fake());
  EXPECT_EQ(reef::test::value_of(run(io, peer->list_resources())).at(0).uri, "fake://note");
  EXPECT_EQ(reef::test::value_of(run(io, peer->list_templates())).at(0).uri, "fake://{x}");
  const auto read = reef::test::value_of(run(io, peer->read_resource("fake://note", {})));
  EXPECT_EQ(resource_text_from(read), "words of fake://note");
  EXPECT_EQ(reef::test::value_of(run(io, peer->list_prompts())).at(0).arguments.at(0), "who");
  const auto prompt =
      reef::test::value_of(run(io, peer->get_prompt("greet", {{"who", "Ann"}}, {})));
  EXPECT_EQ(prompt_text_from(prompt), "user: Hello Ann");
}

TEST_F(PeerTest, AChangedListIsTold) {
  connect(test::fake());
  EXPECT_EQ(text("grow"), "grown");
  run(io, [](Notify& noted, int& changes) -> Task<void> {
    while (changes == 0) co_await noted.wait();
  }(noted, changes));
}

TEST_F(PeerTest, OlderRevisionsAreSpokenAndUnknownOnesRefused) {
  connect(test::fake({"--version", "2024-11-05"}));
  EXPECT_EQ(peer->info().version, "2024-11-05");
  const auto refused = try_connect(test::fake({"--version", "1999-01-01"}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("1999-01-01"), std::string::npos);
}

TEST_F(PeerTest, TextAProgramPrintsBesideItsMessagesDoesNoHarm) {
  connect(test::fake({"--junk"}));
  EXPECT_EQ(text("echo", {{"text", "fine"}}), "fine");
}

TEST_F(PeerTest, AServerThatDiesAtTheProbeIsAskedTheOldWay) {
  connect(test::fake({"--dies-at", "server/discover"}));
  EXPECT_EQ(peer->info().version, "2025-11-25");
}

TEST_F(PeerTest, ACrashFailsWhatRunsAndSaysWhy) {
  Spec spec = test::fake({"--token", "hunter2hunter2"});
  Resolved server;
  server.spec = spec;
  server.secrets.add("hunter2hunter2");
  Peer::Watch watch;
  watch.on_closed = [this](Error why) { closed = why.what; };
  peer = reef::test::value_of(
      run(io, Peer::connect(Peer::Needs{io.get_executor(), http}, server, watch)));
  const auto crashed = call("crash");
  ASSERT_FALSE(crashed);
  EXPECT_NE(crashed.error().what.find("exit code 3"), std::string::npos) << crashed.error().what;
  EXPECT_NE(crashed.error().what.find("the token was ***"), std::string::npos)
      << crashed.error().what;
  EXPECT_FALSE(closed.empty());
  EXPECT_FALSE(call("echo"));
}

TEST_F(PeerTest, AProgramThatIsNotThereSaysSo) {
  auto spec = test::fake();
  spec.command = "/no/such/program";
  const auto refused = try_connect(spec);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("/no/such/program"), std::string::npos);
}

TEST_F(PeerTest, ClosingEndsTheProgram) {
  connect(test::fake());
  const auto pid = std::stoi(text("pid"));
  ASSERT_EQ(::kill(pid, 0), 0);
  run(io, peer->close());
  peer.reset();
  EXPECT_TRUE(run_until(io, [pid] { return ::kill(pid, 0) != 0; }));
}

// ---- over HTTP ----

std::string result_of(const SeenRequest& request, const std::string& result) {
  const auto id = json::parse(request.body)->as_object().at("id");
  return json::write(
      json::object{{"jsonrpc", "2.0"}, {"id", id}, {"result", *json::parse(result)}});
}

constexpr const char* kHandshake =
    R"({"protocolVersion":"2025-11-25","serverInfo":{"name":"h"},"capabilities":{"tools":{}}})";

class PeerOverHttp : public PeerTest {
 protected:
  PeerOverHttp() {
    server.on_request = [this](const SeenRequest& request) { return reply_to(request); };
  }
  ~PeerOverHttp() override {
    if (peer) run(io, peer->close());
    peer.reset();
    run(io, server.stop());
  }

  FakeReply reply_to(const SeenRequest& request) {
    if (request.method == "DELETE") return json_reply(200, "");
    if (request.method == "GET" && gets) return gets(request);
    if (request.method == "GET") return json_reply(405, "");
    const auto method = std::string(
        json::find_string(json::parse(request.body)->as_object(), "method").value_or(""));
    if (const auto set = replies.find(method); set != replies.end()) return set->second(request);
    if (method == "server/discover") return json_reply(400, "what?");
    if (method == "initialize") {
      auto reply = json_reply(200, result_of(request, kHandshake));
      reply.headers.emplace_back("Mcp-Session-Id", "session-7");
      return reply;
    }
    if (method.starts_with("notifications/")) return json_reply(202, "");
    return json_reply(200, result_of(request, R"({"content":[{"type":"text","text":"ok"}]})"));
  }

  Spec spec() {
    Spec out;
    out.name = "web";
    out.url = server.url() + "/mcp";
    out.auth = "tok-123456";
    out.headers["X-Extra"] = "more";
    return out;
  }

  std::map<std::string, std::function<FakeReply(const SeenRequest&)>> replies;
  std::function<FakeReply(const SeenRequest&)> gets;
  reef::test::FakeHttp server{io.get_executor()};
};

TEST_F(PeerOverHttp, TheSessionIsKeptAndTakenLeaveOf) {
  connect(spec());
  EXPECT_EQ(peer->info().transport, "http");
  EXPECT_EQ(text("x"), "ok");
  run(io, peer->close());
  const auto& seen = server.requests();
  EXPECT_EQ(seen.back().method, "DELETE");
  for (const auto& request : seen) {
    EXPECT_EQ(request.headers.at("authorization"), "Bearer tok-123456");
    EXPECT_EQ(request.headers.at("x-extra"), "more");
  }
  const auto called = std::find_if(seen.begin(), seen.end(), [](const auto& request) {
    return request.body.find("tools/call") != std::string::npos;
  });
  ASSERT_NE(called, seen.end());
  EXPECT_EQ(called->headers.at("mcp-session-id"), "session-7");
  EXPECT_EQ(called->headers.at("mcp-protocol-version"), "2025-11-25");
}

TEST_F(PeerOverHttp, AForgottenSessionIsToldAsSuch) {
  connect(spec());
  replies["tools/call"] = [](const SeenRequest&) { return json_reply(404, "no session"); };
  const auto lost = call("x");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::gone);
  // The reference servers word it like this.
  replies["tools/call"] = [](const SeenRequest&) {
    return json_reply(400, R"({"jsonrpc":"2.0","error":{"code":-32000,"message":)"
                           R"("Bad Request: No valid session ID provided"}})");
  };
  EXPECT_EQ(call("x").error().code, Errc::gone);
  replies["tools/call"] = [](const SeenRequest&) { return json_reply(400, "bad request"); };
  EXPECT_EQ(call("x").error().code, Errc::unsupported) << "not every 400";
}

TEST_F(PeerOverHttp, AStreamBringsProgressAndTheAnswer) {
  connect(spec());
  replies["tools/call"] = [](const SeenRequest& request) {
    const auto token = json::parse(request.body)->at("params").at("_meta").at("progressToken");
    const auto progress = json::write(json::object{
        {"jsonrpc", "2.0"},
        {"method", "notifications/progress"},
        {"params", json::object{{"progressToken", token}, {"progress", 1}, {"message", "half"}}}});
    return reef::test::event_stream(
        {": hello\n\n", "data: " + progress + "\n\n",
         "event: message\ndata: " + result_of(request, R"({"content":[]})") + "\n\n"});
  };
  std::string told;
  CallOptions options;
  options.progress = [&](const Progress& progress) { told = progress.message; };
  EXPECT_TRUE(call("x", {}, options));
  EXPECT_EQ(told, "half");
}

// Servers of revision 2026-07-28 that tell of changes on `subscriptions/listen`.
class Listening : public PeerOverHttp {
 protected:
  Listening() {
    replies["server/discover"] = [](const SeenRequest& request) {
      return json_reply(200, result_of(request, R"({"resultType":"complete","supportedVersions":)"
                                                R"(["2026-07-28"],"capabilities":)"
                                                R"({"tools":{"listChanged":true}}})"));
    };
  }
  static std::string event(const std::string& method) {
    return "data: " + json::write(json::object{{"jsonrpc", "2.0"}, {"method", method}}) + "\n\n";
  }
  static FakeReply stream(std::vector<std::string> methods, FakeReply::Then then) {
    std::vector<std::string> pieces = {event("notifications/subscriptions/acknowledged")};
    for (const auto& method : methods) pieces.push_back(event(method));
    auto reply = reef::test::event_stream(std::move(pieces));
    reply.then = then;
    return reply;
  }
  std::vector<SeenRequest> seen(const std::string& method) {
    std::vector<SeenRequest> out;
    for (const auto& request : server.requests())
      if (!request.body.empty() &&
          json::find_string(json::parse(request.body)->as_object(), "method") == method)
        out.push_back(request);
    return out;
  }
  // Connects and returns when the server has the call, which it never answers.
  void begin_endless_call(TaskGroup& calls) {
    replies["tools/call"] = [](const SeenRequest&) {
      auto reply = reef::test::event_stream({": working\n\n"});
      reply.then = FakeReply::Then::hang;
      return reply;
    };
    connect(spec());
    const auto forever = [](Peer& to) -> Task<void> {
      co_await yield_to_loop();
      static_cast<void>(co_await to.call_tool("x", {}, {}));
    };
    calls.spawn(forever(*peer));
    run_until(io, [this] { return seen("tools/call").size() == 1; });
  }
};

constexpr const char* kListChanged = "notifications/tools/list_changed";

TEST_F(Listening, ChangesComeOnTheSubscription) {
  replies["subscriptions/listen"] = [](const SeenRequest&) {
    return stream({kListChanged, "notifications/of/something/else", kListChanged},
                  FakeReply::Then::hang);
  };
  connect(spec());
  EXPECT_EQ(peer->info().version, "2026-07-28");
  run_until(io, [this] { return changes == 2; });
  const auto asked = seen("subscriptions/listen");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].headers.at("mcp-method"), "subscriptions/listen");
  const auto params = json::parse(asked[0].body)->at("params");
  EXPECT_EQ(params.at("notifications").at("toolsListChanged"), true);
  EXPECT_EQ(params.at("_meta").at("io.modelcontextprotocol/protocolVersion"), "2026-07-28");
  EXPECT_EQ(text("x"), "ok") << "other requests are not held up by it";
  run(io, peer->close());
  const auto open = asked[0].connection;
  run_until(io, [this, open] { return server.closed().contains(open); });
}

TEST_F(Listening, ASubscriptionThatBreaksIsMadeAgain) {
  int times = 0;
  replies["subscriptions/listen"] = [&](const SeenRequest& request) {
    switch (++times) {
      case 1:
        return stream({kListChanged}, FakeReply::Then::cut);
      case 2:
        return stream({}, FakeReply::Then::reset);
      case 3:  // ended in order, by its result
        return json_reply(200, result_of(request, R"({"resultType":"complete"})"));
      case 4:
        return json_reply(503, "later");
      default:
        return stream({kListChanged}, FakeReply::Then::hang);
    }
  };
  connect(spec());
  // Two changes were told; each of the four breaks counts as one, because a change may have been
  // missed.
  for (const int pause : {1, 2, 4, 8}) {
    ASSERT_TRUE(run_until(io, [&] { return clock.until_next() == std::chrono::seconds(pause); }));
    clock.advance(std::chrono::seconds(pause));
  }
  EXPECT_TRUE(run_until(io, [&] { return times == 5 && changes == 6; }));
  EXPECT_EQ(closed, "") << "the connection itself is as good as before";
  EXPECT_EQ(text("x"), "ok");
}

TEST_F(Listening, AServerThatRefusesItIsNotAskedAgain) {
  const std::function<FakeReply(const SeenRequest&)> refusals[] = {
      [](const SeenRequest& request) {
        const auto id = json::parse(request.body)->as_object().at("id");
        return json_reply(
            200, json::write(json::object{
                     {"jsonrpc", "2.0"},
                     {"id", id},
                     {"error", json::object{{"code", -32601}, {"message", "no such method"}}}}));
      },
      [](const SeenRequest&) { return json_reply(404, "nothing here"); },
      [](const SeenRequest&) { return json_reply(405, ""); },
  };
  for (const auto& refusal : refusals) {
    replies["subscriptions/listen"] = refusal;
    const auto before = seen("subscriptions/listen").size();
    connect(spec());
    run_until(io, [&] { return seen("subscriptions/listen").size() > before; });
    EXPECT_EQ(text("x"), "ok");
    clock.advance(std::chrono::minutes(5));
    EXPECT_EQ(text("x"), "ok");
    EXPECT_EQ(seen("subscriptions/listen").size(), before + 1);
    EXPECT_EQ(closed, "");
    run(io, peer->close());
  }
}

TEST_F(Listening, ACallThatIsNotWantedAnyMoreIsHungUpOn) {
  replies["subscriptions/listen"] = [](const SeenRequest&) { return json_reply(405, ""); };
  TaskGroup calls(io.get_executor(), "calls");
  begin_endless_call(calls);
  const auto held = seen("tools/call")[0].connection;
  EXPECT_FALSE(server.closed().contains(held));
  calls.cancel();
  run(io, calls.join());
  // In this revision closing the stream is the cancellation.
  run_until(io, [this, held] { return server.closed().contains(held); });
  EXPECT_TRUE(run(io, peer->ping()));
  EXPECT_TRUE(seen("notifications/cancelled").empty());
}

TEST_F(Listening, AServerOfTheHandshakesEraGetsACancelMessage) {
  replies.erase("server/discover");
  TaskGroup calls(io.get_executor(), "calls");
  begin_endless_call(calls);
  const auto id = json::parse(seen("tools/call")[0].body)->at("id");
  calls.cancel();
  run(io, calls.join());
  run_until(io, [this] { return seen("notifications/cancelled").size() == 1; });
  const auto told = seen("notifications/cancelled")[0];
  EXPECT_EQ(json::parse(told.body)->at("params").at("requestId"), id);
  EXPECT_EQ(told.headers.at("mcp-session-id"), "session-7");
  EXPECT_EQ(told.headers.at("mcp-protocol-version"), "2025-11-25");
}

TEST_F(Listening, ACallThatTakesTooLongIsCancelledInTheSameWay) {
  replies["subscriptions/listen"] = [](const SeenRequest&) { return json_reply(405, ""); };
  replies["tools/call"] = [](const SeenRequest&) {
    auto reply = reef::test::event_stream({": working\n\n"});
    reply.then = FakeReply::Then::hang;
    return reply;
  };
  auto hasty = spec();
  hasty.timeout = std::chrono::seconds(50);
  connect(hasty);
  std::optional<Result<CallResult>> late;
  TaskGroup calls(io.get_executor(), "calls");
  calls.spawn(reef::test::store_result(peer->call_tool("x", {}, {}), late));
  run_until(io, [this] { return seen("tools/call").size() == 1; });
  clock.advance(std::chrono::seconds(50));
  ASSERT_TRUE(late && !*late);
  EXPECT_EQ(late->error().code, Errc::timeout);
  const auto held = seen("tools/call")[0].connection;
  run_until(io, [this, held] { return server.closed().contains(held); });
}

TEST_F(PeerOverHttp, AStreamThatBreaksWithAnIdIsTakenUpWhereItBroke) {
  std::string asked;
  std::vector<std::string> places;
  gets = [&](const SeenRequest& request) {
    const auto last = request.headers.find("last-event-id");
    if (last == request.headers.end()) return json_reply(405, "");  // the listening stream
    places.push_back(last->second);
    if (places.size() == 1) {
      auto reply = reef::test::event_stream({"id: e-2\ndata: \n\n"});
      reply.then = FakeReply::Then::cut;
      return reply;
    }
    return reef::test::event_stream({"id: e-3\ndata: " + asked + "\n\n"});
  };
  connect(spec());
  replies["tools/call"] = [&](const SeenRequest& request) {
    asked = result_of(request, R"({"content":[{"type":"text","text":"at last"}]})");
    auto reply = reef::test::event_stream({"id: e-1\nretry: 1\ndata: \n\n"});
    reply.then = FakeReply::Then::cut;
    return reply;
  };
  std::optional<Result<CallResult>> result;
  TaskGroup tasks(io.get_executor(), "calls");
  tasks.spawn(reef::test::store_result(peer->call_tool("x", {}, {}), result));
  for (int breaks = 0; breaks < 2; ++breaks) {
    ASSERT_TRUE(run_until(io, [&] { return clock.until_next() == std::chrono::milliseconds(1); }));
    clock.advance(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(run_until(io, [&] { return result.has_value(); }));
  EXPECT_EQ(reef::test::value_of(*result).text, "at last");
  EXPECT_EQ(places, (std::vector<std::string>{"e-1", "e-2"}));
  const auto calls = std::count_if(server.requests().begin(), server.requests().end(),
                                   [](const SeenRequest& request) {
                                     return request.body.find("tools/call") != std::string::npos;
                                   });
  EXPECT_EQ(calls, 1) << "it is not called twice";
}

TEST_F(PeerOverHttp, AStreamThatBreaksWithoutIdsIsAFailure) {
  connect(spec());
  replies["tools/call"] = [](const SeenRequest&) {
    auto reply = reef::test::event_stream({": nothing yet\n\n"});
    reply.then = FakeReply::Then::cut;
    return reply;
  };
  const auto broken = call("x");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::unavailable);
}

TEST_F(PeerOverHttp, WrongAnswersAreFailuresNotHangs) {
  connect(spec());
  const std::pair<const char*, Errc> bodies[] = {
      {"not json", Errc::invalid},
      {"[]", Errc::invalid},
      {R"({"jsonrpc":"2.0","id":999999,"result":{}})", Errc::invalid},
      {R"({"jsonrpc":"2.0","method":"x"})", Errc::invalid}};
  for (const auto& [body, code] : bodies) {
    replies["tools/call"] = [body = std::string(body)](const SeenRequest&) {
      return json_reply(200, body);
    };
    const auto result = call("x");
    ASSERT_FALSE(result) << body;
    EXPECT_EQ(result.error().code, code) << body;
  }
}

TEST_F(PeerOverHttp, ARefusedTokenIsSaidAndNeverShown) {
  replies["server/discover"] = [](const SeenRequest& request) {
    return json_reply(401, "bad token: " + request.headers.at("authorization"));
  };
  Resolved resolved;
  resolved.spec = spec();
  resolved.secrets.add("tok-123456");
  const auto refused = run(io, Peer::connect(Peer::Needs{io.get_executor(), http}, resolved, {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unauthorized);
  EXPECT_EQ(refused.error().what.find("tok-123456"), std::string::npos) << refused.error().what;
}

TEST_F(PeerOverHttp, AnAddressOnAnotherHostGetsNothing) {
  server.on_request = [&](const SeenRequest& request) {
    if (request.method != "GET") return json_reply(405, "");
    FakeReply reply =
        reef::test::event_stream({"event: endpoint\ndata: http://evil.example/take\n\n"});
    reply.then = FakeReply::Then::hang;
    return reply;
  };
  EXPECT_FALSE(try_connect(spec()));
}

}  // namespace
}  // namespace reef::mcp
