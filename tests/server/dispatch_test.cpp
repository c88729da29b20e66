// The operations without any socket: a message in, a stream of messages out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "local/local.h"
#include "model/scripted/scripted.h"
#include "server/ledger.h"
#include "server/operations.h"
#include "server/server.h"
#include "session/document_folders.h"
#include "store/store.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::server {
namespace {

using protocol::ClientMessage;
using protocol::ServerMessage;

Task<std::vector<ServerMessage>> read_all(protocol::Answer answer) {
  std::vector<ServerMessage> out;
  for (;;) {
    auto message = co_await answer->next();
    if (!message) co_return out;
    out.push_back(std::move(*message));
  }
}

class DispatchTest : public testing::Test {
 protected:
  DispatchTest() {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("local", std::make_shared<local::LocalProvider>());
    setup->providers.add("s", std::make_shared<model::ScriptedProvider>(*model::parse_script(
                                  R"({"replies":[{"fail":"auth","message":"bad key"}]})")));
    setup->agents["reef"] = runtime::Agent{"reef", "", "local", "", {}};
    setup->agents["broken"] = runtime::Agent{"broken", "", "s/x", "", {}};
    runtime.configure(std::move(setup));
    node.agents.create = node.agents.update = [this](std::string name, std::string, std::string) {
      return note("write " + name);
    };
    node.agents.rename = [this](std::string from, std::string to) {
      return note("rename " + from + " " + to);
    };
    node.agents.remove = [this](std::string name) { return note("remove " + name); };
    node.skills = &skills;
    node.bus = &bus;
    node.tasks = &tasks;
    node.live = &live;
    node.ledger = &ledger;
    EXPECT_TRUE(test::run(io, recall.load()));
  }
  ~DispatchTest() override {
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, bus.stop());
    test::run(io, recall.stop());
    test::run(io, sessions.stop());
  }

  std::vector<ServerMessage> ask(ClientMessage message) {
    return test::run(io, read_all(dispatch(node, peer, std::move(message))));
  }
  ServerMessage ask_one(ClientMessage message) {
    auto all = ask(std::move(message));
    EXPECT_EQ(all.size(), 1U);
    return all.at(0);
  }
  ServerMessage send(const std::string& content) {
    ClientMessage message;
    message.mutable_send()->set_content(content);
    return ask_one(message);
  }

  protocol::Peer peer;

  Task<Status> reload() {
    ++reloads;
    co_return reload_result;
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemStore store;
  test::TempDir folder;
  PosixFiles files;
  Pool pool{2};
  store::FsDocuments documents{files, folder.path()};
  memory::Memories memories{io.get_executor(), documents, pool, clock};
  session::Sessions sessions{io.get_executor(), store, clock, random};
  session::DocumentFolders folders{documents, pool};
  session::Attachments attachments{io.get_executor(), sessions, store, folders};
  skills::Library skills{files, pool, folder / "skills"};
  runtime::Tasks tasks{io.get_executor(), clock};
  runtime::Runtime runtime{io.get_executor(), sessions, clock};
  runtime::Live live{sessions, runtime.broadcast()};
  bus::Bus bus{io.get_executor(), documents, pool, runtime};
  exchange::Importer imports{exchange::ImportNeeds{.loop = io.get_executor(),
                                                   .files = files,
                                                   .documents = documents,
                                                   .pool = pool,
                                                   .sessions = sessions,
                                                   .store = store,
                                                   .clock = clock,
                                                   .random = random,
                                                   .home = folder.path()}};
  organise::Definitions definitions{io.get_executor(), documents, pool};
  organise::Changes changes{io.get_executor(), sessions, definitions, pool};
  recall::Recall recall{io.get_executor(), sessions, store, pool, files, folder / "index"};
  model::ModelLists lists{io.get_executor()};
  Ledger ledger{io.get_executor(), files, pool, clock, folder / "answers.jsonl"};
  std::vector<std::string> noted;
  int reloads = 0;
  int shutdowns = 0;
  Status reload_result = Ok{};
  runtime::Compactions compactions{io.get_executor(), sessions, memories};
  Node node{runtime,
            compactions,
            sessions,
            store,
            documents,
            attachments,
            memories,
            pool,
            folder.path(),
            imports,
            definitions,
            changes,
            recall,
            [this] { return reload(); },
            [this] { ++shutdowns; },
            [](protocol::Stats& stats) { stats.set_pid(42); },
            models()};

  Models models() {
    Models out;
    out.providers = [this] {
      auto setup = runtime.shared_setup();
      return std::shared_ptr<const model::Providers>(setup, &setup->providers);
    };
    out.default_model = [this] { return runtime.setup().default_model; };
    out.lists = &lists;
    out.make = [](const model::ProviderSpec& spec) -> Result<model::Providers::Entry> {
      model::Providers::Entry entry;
      entry.name = spec.name;
      entry.provider = std::make_shared<local::LocalProvider>();
      entry.default_model = "m";
      return entry;
    };
    out.set_default = [this](std::string model) { return note("default " + model); };
    out.save = [this](model::ProviderSpec spec, bool make_default) {
      return note(fmt::format("save {} {} {}", spec.name, spec.kind, make_default));
    };
    out.remove = [this](std::string name) { return note("remove " + name); };
    return out;
  }
  Task<Status> note(std::string what) {
    noted.push_back(std::move(what));
    co_return Ok{};
  }
};

TEST_F(DispatchTest, EveryOperationIsAnsweredAndNoneIsForgotten) {
  const std::set<std::string> built = {"send",
                                       "generate_title",
                                       "describe_context",
                                       "describe_session",
                                       "stream",
                                       "kill",
                                       "ping",
                                       "hello",
                                       "reload",
                                       "get_stats",
                                       "shutdown",
                                       "list_permissions",
                                       "revoke_permission",
                                       "list_plans",
                                       "accept_plan",
                                       "list_sessions",
                                       "read_session",
                                       "new_session",
                                       "resume_session",
                                       "search_sessions",
                                       "list_messages",
                                       "attach_file",
                                       "attach_data",
                                       "list_files",
                                       "read_file",
                                       "collect_garbage",
                                       "get_usage",
                                       "fork_session",
                                       "rewind_session",
                                       "patch_session",
                                       "trash_session",
                                       "label_entry",
                                       "check_sessions",
                                       "follow_session",
                                       "restore_session",
                                       "list_trash",
                                       "list_memories",
                                       "get_memory",
                                       "recall",
                                       "remember",
                                       "forget",
                                       "rename_memory",
                                       "alias_memory",
                                       "read_memory",
                                       "load_memory",
                                       "list_statuses",
                                       "change_status",
                                       "list_labels",
                                       "change_label",
                                       "change_rule",
                                       "list_views",
                                       "change_view",
                                       "patch_sessions",
                                       "trash_sessions",
                                       "list_conversations",
                                       "list_active_conversations",
                                       "get_conversation_history",
                                       "delete_conversation",
                                       "import_sessions",
                                       "find_imports",
                                       "cancel_import",
                                       "export_sessions",
                                       "list_models",
                                       "set_active_model",
                                       "list_providers",
                                       "test_provider",
                                       "save_provider",
                                       "remove_provider",
                                       "list_agents",
                                       "get_agent",
                                       "create_agent",
                                       "update_agent",
                                       "rename_agent",
                                       "delete_agent",
                                       "reply_to_ask",
                                       "steer_session",
                                       "attach_run",
                                       "list_questions",
                                       "list_decisions",
                                       "answer_decision",
                                       "list_permissions",
                                       "revoke_permission",
                                       "list_plans",
                                       "accept_plan",
                                       "compact",
                                       "list_mcps",
                                       "upsert_mcp",
                                       "delete_mcp",
                                       "test_mcp",
                                       "login_mcp",
                                       "finish_mcp_login",
                                       "logout_mcp",
                                       "subscribe_mcp_events",
                                       "list_skills",
                                       "read_skill",
                                       "subscribe_event",
                                       "unsubscribe_event",
                                       "list_subscriptions",
                                       "publish_event",
                                       "list_tasks",
                                       "cancel_task",
                                       "follow_entries",
                                       "reply_to_tool",
                                       "reconnect_mcp",
                                       "get_skill",
                                       "find_sessions",
                                       "cancel_stream",
                                       "create_session",
                                       "backup"};
  const std::set<std::string> gone = {"install_plugin", "uninstall_plugin", "list_plugins",
                                      "search_plugins", "start_service",    "stop_service",
                                      "service_logs",   "get_config"};
  const auto* oneof = ClientMessage::descriptor()->FindOneofByName("msg");
  for (int i = 0; i < oneof->field_count(); ++i) {
    const auto* field = oneof->field(i);
    // These answer for ever; blackbox.test_events, test_tasks, test_cursors.
    static const std::set<std::string> endless = {"subscribe_events", "subscribe_tasks",
                                                  "follow_sessions", "follow_tasks"};
    if (endless.contains(field->name())) continue;
    ClientMessage message;
    if (field->message_type()) {
      message.GetReflection()->MutableMessage(&message, field);
    } else {
      message.GetReflection()->SetString(&message, field, "x");
    }
    const auto answers = ask(message);
    ASSERT_FALSE(answers.empty()) << field->name();
    const auto code = answers[0].has_error() ? answers[0].error().code() : 200U;
    if (gone.contains(field->name())) {
      EXPECT_EQ(code, 410U) << field->name();
      EXPECT_NE(answers[0].error().message().find(": "), std::string::npos)
          << "what replaces it is said";
    } else if (!built.contains(field->name())) {
      EXPECT_EQ(code, 501U) << field->name();
      EXPECT_NE(answers[0].error().message().find(field->name()), std::string::npos);
    } else {
      EXPECT_NE(code, 501U) << field->name();
      EXPECT_NE(code, 410U) << field->name();
    }
  }
}

TEST_F(DispatchTest, AgentsAreToldAsTheyAreThen) {
  ClientMessage message;
  message.mutable_list_agents();
  const auto list = ask_one(message).agent_list();
  ASSERT_EQ(list.agents_size(), 2);
  EXPECT_EQ(list.agents(0).name(), "broken");
  EXPECT_EQ(list.agents(1).model(), "local");
  message.mutable_get_agent();
  EXPECT_EQ(ask_one(message).agent_info().name(), "reef") << "no name: the default agent";
  message.mutable_update_agent()->set_name("broken");
  EXPECT_EQ(ask_one(message).agent_info().name(), "broken");
  message.mutable_rename_agent()->set_old_name("broken");
  message.mutable_rename_agent()->set_new_name("mended");
  EXPECT_EQ(ask_one(message).error().code(), 404U) << "nobody renamed it here";
  message.mutable_delete_agent()->set_name("broken");
  EXPECT_TRUE(ask_one(message).has_pong());
  EXPECT_EQ(noted,
            (std::vector<std::string>{"write broken", "rename broken mended", "remove broken"}));
}

TEST_F(DispatchTest, AnEmptyMessageIsRefused) {
  EXPECT_EQ(ask_one(ClientMessage()).error().code(), 400U);
}

TEST_F(DispatchTest, SendAnswersWithTheWholeReply) {
  const auto answer = send("hello");
  ASSERT_TRUE(answer.has_response()) << answer.ShortDebugString();
  EXPECT_NE(answer.response().content().find("not a language model"), std::string::npos);
  EXPECT_EQ(answer.response().agent(), "reef");
  EXPECT_EQ(answer.response().model(), "local");
  EXPECT_GT(answer.response().usage().total_tokens(), 0U);
  EXPECT_FALSE(answer.response().session_id().empty());
}

TEST_F(DispatchTest, SendReportsAFailedModel) {
  ClientMessage message;
  message.mutable_send()->set_agent("broken");
  message.mutable_send()->set_content("hi");
  const auto answer = ask_one(message);
  EXPECT_EQ(answer.error().code(), 502U);
  EXPECT_NE(answer.error().message().find("bad key"), std::string::npos);
}

TEST_F(DispatchTest, StreamGivesTheEventsOfCrabTalkInTheirOrder) {
  ClientMessage message;
  message.mutable_stream()->set_content("hello");
  std::string order;
  std::string text;
  for (const auto& answer : ask(message)) {
    ASSERT_TRUE(answer.has_stream());
    const auto& event = answer.stream();
    const auto* oneof = event.GetDescriptor()->FindOneofByName("event");
    const auto name = event.GetReflection()->GetOneofFieldDescriptor(event, oneof)->name();
    text += event.chunk().content();
    if (!(name == "chunk" && order.ends_with("chunk "))) order += name + " ";
  }
  EXPECT_EQ(order, "start text_start chunk text_end context_usage end ");
  EXPECT_FALSE(text.empty());
}

TEST_F(DispatchTest, StreamToAnUnknownAgentIsOneError) {
  ClientMessage message;
  message.mutable_stream()->set_agent("ghost");
  message.mutable_stream()->set_content("hello");
  EXPECT_EQ(ask_one(message).error().message(), "agent 'ghost' not registered");
}

TEST_F(DispatchTest, SessionsAreListedNewestFirstAndEndWithLast) {
  for (const std::string sender : {"a", "b"}) {
    ClientMessage message;
    message.mutable_send()->set_content("from " + sender);
    message.mutable_send()->set_sender(sender);
    ASSERT_TRUE(ask_one(message).has_response());
  }
  ClientMessage message;
  message.mutable_list_sessions();
  const auto answer = ask_one(message);
  EXPECT_TRUE(answer.session_list().last());
  ASSERT_EQ(answer.session_list().sessions_size(), 2);
  for (const auto& row : answer.session_list().sessions()) {
    EXPECT_EQ(row.message_count(), 2U);
    EXPECT_EQ(row.key(), "agent:reef:" + row.sender());
    EXPECT_EQ(row.preview(), "from " + row.sender());
    EXPECT_TRUE(parse_iso(row.updated_at()));
  }
}

TEST_F(DispatchTest, ATranscriptComesInPiecesThatMakeTheFile) {
  const auto id = send(std::string(700'000, 'x')).response().session_id();
  ClientMessage message;
  message.mutable_read_session()->set_id(id);
  const auto answers = ask(message);
  ASSERT_GT(answers.size(), 2U);
  std::string bytes;
  for (const auto& answer : answers) bytes += answer.session_data().data();
  EXPECT_EQ(bytes, store.raw().at(*session::SessionId::parse(id)));
  EXPECT_EQ(answers.front().session_data().session().id(), id);
  EXPECT_TRUE(answers.back().session_data().last());
}

TEST_F(DispatchTest, HostileSessionIdsAreRefused) {
  for (const std::string id : {"", "..", "../../etc/passwd", "a/b"}) {
    ClientMessage message;
    message.mutable_read_session()->set_id(id);
    EXPECT_EQ(ask_one(message).error().code(), 400U) << id;
  }
  ClientMessage message;
  message.mutable_read_session()->set_id("261115-no-such");
  EXPECT_EQ(ask_one(message).error().code(), 404U);
}

TEST_F(DispatchTest, ReloadReportsWhatWentWrong) {
  ClientMessage message;
  message.mutable_reload();
  EXPECT_TRUE(ask_one(message).has_pong());
  reload_result = Error(Errc::invalid, "config.toml:3: tcp.port: must be a number");
  EXPECT_EQ(ask_one(message).error().message(), "config.toml:3: tcp.port: must be a number");
  EXPECT_EQ(reloads, 2);
}

TEST_F(DispatchTest, ModelsAreListedAndTheDefaultIsMarked) {
  ClientMessage message;
  message.mutable_list_models();
  const auto list = ask_one(message).model_list();
  ASSERT_EQ(list.models_size(), 2);
  EXPECT_EQ(list.models(0).name(), "local/local");
  EXPECT_TRUE(list.models(0).active());
  EXPECT_EQ(list.models(1).name(), "s/s");
  EXPECT_FALSE(list.models(1).active());
  message.mutable_list_models()->set_provider("s");
  EXPECT_EQ(ask_one(message).model_list().models_size(), 1);
  message.mutable_list_models()->set_provider("ghost");
  EXPECT_EQ(ask_one(message).error().code(), 404U);
}

TEST_F(DispatchTest, OnlyAModelThatIsServedCanBeTheDefault) {
  ClientMessage message;
  message.mutable_set_active_model()->set_model("ghost/x");
  EXPECT_EQ(ask_one(message).error().code(), 404U);
  EXPECT_TRUE(noted.empty());
  message.mutable_set_active_model()->set_model("s/x");
  EXPECT_TRUE(ask_one(message).has_pong());
  EXPECT_EQ(noted, std::vector<std::string>{"default s/x"});
}

TEST_F(DispatchTest, ATestSaysWhetherAProviderWorksAndWhatToDo) {
  ClientMessage message;
  message.mutable_test_provider()->set_name("local");
  auto verdict = ask_one(message).provider_verdict();
  EXPECT_TRUE(verdict.ok());
  EXPECT_GT(verdict.output_tokens(), 0);
  message.mutable_test_provider()->set_name("s");
  verdict = ask_one(message).provider_verdict();
  EXPECT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.failure(), "auth");
  EXPECT_EQ(verdict.message(), "bad key");
  EXPECT_NE(verdict.advice().find("key"), std::string::npos);
  message.mutable_test_provider()->set_name("ghost");
  EXPECT_EQ(ask_one(message).error().code(), 404U);

  auto& definition = *message.mutable_test_provider()->mutable_definition();
  definition.set_name("new");
  definition.set_kind("magic");
  EXPECT_EQ(ask_one(message).error().code(), 400U);
  definition.set_kind("openai");
  EXPECT_TRUE(ask_one(message).provider_verdict().ok());
}

TEST_F(DispatchTest, ProvidersAreSavedAndRemovedByTheDaemon) {
  ClientMessage message;
  auto& save = *message.mutable_save_provider();
  EXPECT_EQ(ask_one(message).error().code(), 400U);
  save.mutable_definition()->set_name("o");
  save.mutable_definition()->set_kind("openai");
  save.set_make_default(true);
  EXPECT_TRUE(ask_one(message).has_pong());
  message.mutable_remove_provider()->set_name("o");
  EXPECT_TRUE(ask_one(message).has_pong());
  EXPECT_EQ(noted, (std::vector<std::string>{"save o openai true", "remove o"}));
}

TEST_F(DispatchTest, StatsHelloAndShutdown) {
  ClientMessage message;
  message.mutable_get_stats();
  const auto stats = ask_one(message).stats();
  EXPECT_EQ(stats.version(), REEF_VERSION);
  EXPECT_EQ(stats.registered_agents(), 2U);
  EXPECT_EQ(stats.active_model(), "local");
  EXPECT_EQ(stats.pid(), 42U);
  message.mutable_hello();
  EXPECT_EQ(ask_one(message).hello().protocol_version(), protocol::kVersion);
  message.mutable_shutdown();
  EXPECT_TRUE(ask_one(message).has_pong());
  EXPECT_EQ(shutdowns, 1);
}

using protocol::Right;

std::string operation_of(const Operation& row) {
  return ClientMessage::descriptor()->FindFieldByNumber(row.kind)->name();
}

// The rights of the table, written down a second time; an operation that is not named here needs
// the right admin.
Right expected_right(const std::string& operation) {
  static const std::set<std::string> anybody = {"ping", "hello", "get_stats"};
  static const std::set<std::string> readers = {"list_active_conversations",
                                                "list_conversations",
                                                "get_conversation_history",
                                                "list_sessions",
                                                "read_session",
                                                "follow_session",
                                                "list_trash",
                                                "list_statuses",
                                                "list_labels",
                                                "list_views",
                                                "list_files",
                                                "read_file",
                                                "get_usage",
                                                "list_memories",
                                                "get_memory",
                                                "recall",
                                                "read_memory",
                                                "search_sessions",
                                                "list_messages",
                                                "list_models",
                                                "list_providers",
                                                "list_agents",
                                                "get_agent",
                                                "subscribe_events",
                                                "list_mcps",
                                                "subscribe_mcp_events",
                                                "list_skills",
                                                "read_skill",
                                                "list_subscriptions",
                                                "list_tasks",
                                                "subscribe_tasks",
                                                "follow_sessions",
                                                "follow_entries",
                                                "follow_tasks",
                                                "list_questions",
                                                "list_decisions",
                                                "list_permissions",
                                                "list_plans",
                                                "attach_run",
                                                "describe_context",
                                                "describe_session",
                                                "get_skill",
                                                "find_sessions"};
  static const std::set<std::string> answering = {
      "send",          "stream",        "kill",           "steer_session", "reply_to_ask",
      "reply_to_tool", "cancel_stream", "create_session", "publish_event", "cancel_task",
      "attach_file",   "attach_data",   "answer_decision"};
  return anybody.contains(operation)     ? Right::none
         : readers.contains(operation)   ? Right::read
         : answering.contains(operation) ? Right::answer
                                         : Right::admin;
}

// Asks for each operation of the table with each right and from each origin.
class OperationRights : public DispatchTest, public testing::WithParamInterface<Operation> {
 protected:
  bool denied() {
    ClientMessage message;
    const auto* field = ClientMessage::descriptor()->FindFieldByNumber(GetParam().kind);
    if (field->message_type()) {
      message.GetReflection()->MutableMessage(&message, field);
    } else {
      message.GetReflection()->SetString(&message, field, "x");
    }
    // An allowed operation may wait for ever; a refusal comes at once.
    std::optional<ServerMessage> first;
    TaskGroup group(io.get_executor(), "test");
    group.spawn(read_first(dispatch(node, peer, std::move(message)), first));
    test::run_ready(io);
    group.cancel();
    test::run(io, group.join());
    return first && first->has_error() && first->error().code() == 403U;
  }
  static Task<void> read_first(protocol::Answer answer, std::optional<ServerMessage>& first) {
    first = co_await answer->next();
  }
};

TEST_P(OperationRights, AreThoseOfItsRow) {
  EXPECT_EQ(protocol::name_of(GetParam().right),
            protocol::name_of(expected_right(operation_of(GetParam()))));
  for (const auto right : {Right::none, Right::read, Right::answer, Right::admin}) {
    peer = {};
    peer.right = right;
    EXPECT_EQ(denied(), right < GetParam().right) << protocol::name_of(right);
  }
  for (const auto origin : {protocol::Peer::Origin::child, protocol::Peer::Origin::unknown}) {
    peer = {};
    peer.origin = origin;
    EXPECT_EQ(denied(), GetParam().right > Right::none);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, OperationRights, testing::ValuesIn(all_operations()),
                         [](const auto& row) { return operation_of(row.param); });

// Each row that changes something knows a request again that its client named.
class NamedOperation : public DispatchTest, public testing::WithParamInterface<Operation> {};

TEST_P(NamedOperation, IsAnsweredAsTheFirstTimeAndNotDoneAgain) {
  const auto name = operation_of(GetParam());
  static const std::set<std::string> words = {"send", "stream", "steer_session", "accept_plan"};
  static const std::set<std::string> looks = {"backup", "export_sessions", "find_imports"};
  const auto naming = naming_of(GetParam());
  if (GetParam().right < Right::answer || looks.contains(name)) {
    EXPECT_EQ(naming, Naming::none);
    return;
  }
  if (words.contains(name)) {
    EXPECT_EQ(naming, Naming::transcript) << "blackbox.test_client_ids";
    return;
  }
  EXPECT_EQ(naming, Naming::ledger);
  ClientMessage message;
  const auto* field = ClientMessage::descriptor()->FindFieldByNumber(GetParam().kind);
  message.GetReflection()->MutableMessage(&message, field);
  message.set_client_id("x");
  message.set_request_id(7);
  // As if it had been done.
  ServerMessage first;
  first.mutable_pong();
  std::vector<std::string> answer = {first.SerializeAsString()};
  ASSERT_TRUE(test::run(io, ledger.load()));
  test::run(io, ledger.keep(mark_of(message), std::move(answer)));
  const auto again = ask(message);
  // A cancelled stream has become a kill before it is answered; the name is the request's.
  ASSERT_EQ(again.size(), 1U);
  if (name != "cancel_stream") {
    EXPECT_TRUE(again[0].has_pong()) << again[0].DebugString();
  }
  EXPECT_TRUE(noted.empty());
  EXPECT_EQ(shutdowns + reloads, 0);
  // The right counts before what is remembered.
  peer.right = Right::none;
  EXPECT_EQ(ask_one(message).error().code(), 403U);
}

INSTANTIATE_TEST_SUITE_P(Operations, NamedOperation, testing::ValuesIn(all_operations()),
                         [](const auto& row) { return operation_of(row.param); });

TEST_F(DispatchTest, ANameIsGivenToOneRequest) {
  ClientMessage message;
  message.mutable_new_session()->set_cwd("/");
  message.set_client_id("c1");
  const auto first = ask_one(message);
  EXPECT_EQ(ask_one(message).session_info().session().id(), first.session_info().session().id());
  EXPECT_EQ(sessions.size(), 1U);
  message.mutable_new_session()->set_cwd("/tmp");
  EXPECT_EQ(ask_one(message).error().code(), 409U);
  message.set_client_id("");
  EXPECT_EQ(ask_one(message).error().code(), 400U);
  message.set_client_id(std::string(257, 'x'));
  EXPECT_EQ(ask_one(message).error().code(), 400U);
}

TEST_F(DispatchTest, EveryMessageOfTheSchemaIsInTheTable) {
  const auto* operations = ClientMessage::descriptor()->FindOneofByName("msg");
  ASSERT_GT(operations->field_count(), 80);
  for (int i = 0; i < operations->field_count(); ++i) {
    const auto* field = operations->field(i);
    // CrabTalk keeps this field free for other programs; no operation of Reef stands behind it.
    const bool is_ours = field->number() != ClientMessage::kExtensionFieldNumber;
    const auto* row = find_operation(static_cast<ClientMessage::MsgCase>(field->number()));
    EXPECT_EQ(row != nullptr, is_ours) << field->name();
  }
}

TEST_F(DispatchTest, WhatCameFromTheDaemonItselfStopsNothing) {
  peer.origin = protocol::Peer::Origin::child;
  ClientMessage message;
  message.mutable_shutdown();
  EXPECT_EQ(ask_one(message).error().code(), 403U);
  EXPECT_EQ(shutdowns, 0);
}

}  // namespace
}  // namespace reef::server
