// Messages on their way into conversations, with a disk that answers when it is told to.
#include "server/entrance.h"

#include <condition_variable>
#include <mutex>

#include "server/stage.h"
#include "support/manual_clock.h"

namespace reef::server {
namespace {

// Folders below /slow are looked for until somebody lets them answer; /slow/none is none.
class SlowDisk {
 public:
  bool is_folder(const std::string& path) {
    std::unique_lock lock(mutex_);
    ++looks_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ || !path.starts_with("/slow"); });
    return path != "/slow/none" && path != "/none";
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int looks() {
    const std::lock_guard lock(mutex_);
    return looks_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int looks_ = 0;
};

class EntranceTest : public NodeTest {
 protected:
  ~EntranceTest() override {
    disk.open();
    test::run(io, slow.stop());
  }

  // One question of a client, and what has been answered so far.
  struct Asking {
    std::vector<ServerMessage> answers;
    bool over = false;
    TaskGroup::Id task = 0;
    std::string text() const {
      std::string out;
      for (const auto& one : answers) {
        if (one.has_error()) out += "error " + std::to_string(one.error().code());
        if (one.has_response()) out += "response";
        if (one.has_pong()) out += "pong";
        if (one.has_stream() && one.stream().has_start()) out += "start ";
        if (one.has_stream() && one.stream().has_end()) out += "end" + one.stream().end().error();
      }
      return out;
    }
  };
  static Task<void> read(protocol::Answer answer, std::shared_ptr<Asking> into) {
    for (;;) {
      auto message = co_await answer->next();
      if (!message) break;
      into->answers.push_back(std::move(*message));
    }
    into->over = true;
  }
  std::shared_ptr<Asking> begin(ClientMessage message) {
    auto asking = std::make_shared<Asking>();
    asking->task = group.spawn(read(dispatch(here, peer, std::move(message)), asking));
    return asking;
  }
  std::shared_ptr<Asking> say(const std::string& content, const std::string& cwd,
                              const std::string& sender = "") {
    ClientMessage message;
    auto& words = *message.mutable_stream();
    words.set_content(content);
    if (!cwd.empty()) words.set_cwd(cwd);
    if (!sender.empty()) words.set_sender(sender);
    return begin(std::move(message));
  }
  void until(const std::function<bool()>& there) {
    test::run(io, [](const std::function<bool()>& done) -> Task<void> {
      while (!done()) co_await yield_to_loop();
    }(there));
  }
  // What was said in a sender's conversation, in its order.
  std::string said(const std::string& sender = "user") {
    const auto id = sessions.current(*session::Key::of_pair("reef", sender));
    std::string out;
    if (!id) return out;
    const session::Transcript transcript(session::read_transcript(store.raw().at(*id)));
    for (const auto& entry : transcript.entries())
      if (const auto message = session::message_of(entry);
          message && session::role_of(*message) == "user")
        out += session::text_of(*message) + " ";
    return out;
  }
  ServerMessage kill(bool all = false) {
    ClientMessage message;
    message.mutable_kill()->set_all(all);
    return test::run(io, read_all(dispatch(here, peer, std::move(message)))).at(0);
  }

  SlowDisk disk;
  Entrance slow{io.get_executor(),
                runtime,
                {.patience = std::chrono::seconds(20), .looks_max = 1, .is_folder = is_folder()}};
  Node here = with_slow_disk();
  TaskGroup group{io.get_executor(), "test"};

  std::function<bool(const std::string&)> is_folder() {
    return [this](const std::string& path) { return disk.is_folder(path); };
  }
  Node with_slow_disk() {
    return Node{.runtime = runtime,
                .compactions = compactions,
                .tasks = tasks,
                .live = live,
                .sessions = sessions,
                .store = store,
                .documents = documents,
                .attachments = attachments,
                .memories = memories,
                .skills = skills,
                .bus = bus,
                .imports = imports,
                .definitions = definitions,
                .changes = changes,
                .recall = recall,
                .ledger = ledger,
                .entrance = slow,
                .clock = clock,
                .pool = pool,
                .home = folder.path(),
                .reload = {},
                .shutdown = {},
                .fill_stats = {},
                .models = node.models,
                .agents = node.agents,
                .mcps = node.mcps};
  }
};

TEST_F(EntranceTest, AFolderThatDoesNotAnswerHoldsUpItsConversationAlone) {
  const auto first = say("first", "/slow/a");
  const auto second = say("second", "");
  const auto other = say("other", "", "ann");
  until([&] { return other->over; });
  EXPECT_EQ(other->text(), "start end");
  EXPECT_EQ(second->text(), "") << "it came behind the first";
  disk.open();
  until([&] { return first->over && second->over; });
  EXPECT_EQ(first->text(), "start end");
  EXPECT_EQ(said(), "first second ");
}

TEST_F(EntranceTest, MessagesOfAConversationComeInTheirOrder) {
  std::vector<std::shared_ptr<Asking>> all;
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    const auto name = "m" + std::to_string(i);
    expected += name + " ";
    // Some wait for a look of their own, some for another's, some for none.
    all.push_back(say(name, i % 3 == 0 ? "" : "/slow/" + std::to_string(i % 5)));
  }
  test::run_ready(io);
  disk.open();
  until([&] { return std::all_of(all.begin(), all.end(), [](auto& one) { return one->over; }); });
  EXPECT_EQ(said(), expected);
}

TEST_F(EntranceTest, AFolderThatIsNotThereIsAnErrorAtOnceAndHoldsNobodyUp) {
  const auto slow_one = say("slow", "/slow/a");
  for (const auto& cwd : {std::string("relative"), std::string("/a\0b", 4)}) {
    const auto wrong = say("wrong", cwd);
    until([&] { return wrong->over; });
    EXPECT_EQ(wrong->text(), "error 400") << cwd;
  }
  disk.open();
  until([&] { return slow_one->over; });
  const auto none = say("none", "/none");
  const auto behind = say("behind", "");
  until([&] { return none->over && behind->over; });
  EXPECT_EQ(none->text(), "error 400");
  EXPECT_NE(none->answers[0].error().message().find("cwd '/none' is no folder"), std::string::npos);
  EXPECT_EQ(said(), "slow behind ");
}

TEST_F(EntranceTest, AKillFindsWhatIsOnItsWay) {
  const auto first = say("first", "/slow/a");
  const auto second = say("second", "/slow/a");
  EXPECT_TRUE(kill().has_pong()) << "although there is no conversation yet";
  until([&] { return first->over; });
  EXPECT_EQ(first->text(), "error 499");
  EXPECT_FALSE(second->over) << "it comes next";
  const auto third = say("third", "/slow/a");
  EXPECT_TRUE(kill(true).has_pong());
  until([&] { return second->over && third->over; });
  EXPECT_EQ(second->text() + third->text(), "error 499error 499");
  disk.open();
  EXPECT_EQ(kill().error().code(), 404U) << "nothing came of them";
  EXPECT_EQ(said(), "");
}

TEST_F(EntranceTest, AClientThatLeavesTakesItsMessageAlong) {
  const auto first = say("first", "/slow/a");
  const auto second = say("second", "");
  test::run_ready(io);
  group.cancel(first->task);
  until([&] { return second->over; });
  disk.open();
  EXPECT_EQ(second->text(), "start end");
  EXPECT_EQ(said(), "second ");
}

TEST_F(EntranceTest, OneFolderIsLookedForOnceAtATimeAndFewAreAtTheSameTime) {
  std::vector<std::shared_ptr<Asking>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(say("x", i % 2 == 0 ? "/slow/a" : "/slow/b", "s" + std::to_string(i)));
  until([&] { return disk.looks() == 1; });
  test::run_ready(io);
  EXPECT_EQ(disk.looks(), 1) << "no more than the bound";
  disk.open();
  until([&] { return std::all_of(all.begin(), all.end(), [](auto& one) { return one->over; }); });
  EXPECT_LT(disk.looks(), 6);
  for (const auto& one : all) EXPECT_EQ(one->text(), "start end");
}

TEST_F(EntranceTest, PatienceEnds) {
  test::ManualClock time(io);
  Entrance hasty(io.get_executor(), runtime, {.is_folder = is_folder()});
  // The look itself is on another thread and is not waited for.
  const auto begin = time.steady();
  const auto late = time.run(hasty.check_folder("root", "/slow/a"));
  ASSERT_FALSE(late);
  EXPECT_EQ(time.steady() - begin, std::chrono::seconds(5));
  EXPECT_EQ(late.error().code, Errc::timeout);
  EXPECT_EQ(late.error().what.find("root '/slow/a' does not answer"), 0U) << late.error().what;
  EXPECT_TRUE(test::run(io, hasty.check_folder("root", "/elsewhere"))) << "others do";
  EXPECT_TRUE(test::run(io, hasty.check_folder("root", "")));
  Entrance full(io.get_executor(), runtime, {.looks_max = 1, .is_folder = is_folder()});
  EXPECT_EQ(time.run(full.check_folder("cwd", "/slow/a")).error().code, Errc::timeout);
  EXPECT_EQ(time.run(full.check_folder("cwd", "/elsewhere")).error().code, Errc::busy);
  disk.open();
  test::run(io, hasty.stop());
  test::run(io, full.stop());
}

TEST_F(EntranceTest, NamedMessagesAndCreateSessionWaitAsWell) {
  ClientMessage message;
  message.mutable_stream()->set_content("named");
  message.mutable_stream()->set_cwd("/slow/a");
  message.set_client_id("c1");
  const auto named = begin(message);
  const auto again = begin(message);
  ClientMessage create;
  create.mutable_create_session()->set_session_handle("h");
  create.mutable_create_session()->set_root("/slow/a");
  const auto made = begin(create);
  create.mutable_create_session()->set_session_handle("h2");
  create.mutable_create_session()->set_root("/slow/none");
  const auto not_made = begin(create);
  test::run_ready(io);
  EXPECT_EQ(named->text() + again->text() + made->text() + not_made->text(), "");
  disk.open();
  until([&] { return named->over && again->over && made->over && not_made->over; });
  EXPECT_EQ(named->text(), "start end");
  EXPECT_EQ(again->text(), "start end");
  EXPECT_EQ(said(), "named ");
  EXPECT_EQ(made->text(), "pong");
  EXPECT_EQ(not_made->text(), "error 400");
}

}  // namespace
}  // namespace reef::server
