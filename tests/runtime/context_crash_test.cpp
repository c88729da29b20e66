// The disk goes away at any system call of a compaction, of a title, or of a rewind with a summary:
// the next start finds the session as it was before or as it is after, never between.
#include <cerrno>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "runtime/title.h"
#include "runtime/window_stage.h"
#include "store/fs/fs_journal.h"
#include "store/fs/fs_transcripts.h"
#include "support/faulty_files.h"

namespace reef::runtime {
namespace {

using session::Entry;

session::Draft says(bool user, const std::string& text) {
  if (user) {
    session::UserMessage message;
    message.content.push_back(session::TextBlock{text});
    return session::draft_message(message);
  }
  session::AssistantMessage message;
  message.content.push_back(session::TextBlock{text});
  return session::draft_message(message);
}

// A daemon's life on a disk: the engine, memory and the model.
struct Life {
  Life(const std::string& folder, Files& files)
      : store(files, pool, folder),
        catalog(files, pool, store::catalog_of(folder), store::FsJournal::Durable::no),
        documents(files, folder),
        memories(io.get_executor(), documents, pool, clock) {
    setup->providers.add("s", model);
    Agent agent;
    agent.name = "reef";
    agent.model = "s/x";
    setup->agents["reef"] = agent;
    setup->compaction.keep_recent_tokens = 500;
  }
  ~Life() {
    test::run(io, compactions.stop());
    test::run(io, sessions.stop());
  }

  void talk() {
    session::Sessions::New request{*session::Key::of_pair("reef", "user"), "reef", "user", "", {}};
    for (int i = 0; i < 40; ++i)
      request.drafts.push_back(
          says(i % 2 == 0, fmt::format("line {} {}", i, std::string(200, 'x'))));
    test::value_of(test::run(io, sessions.create(std::move(request))));
  }
  session::SessionId id() const {
    return *sessions.current(*session::Key::of_pair("reef", "user"));
  }
  Compactions::Request request() const { return {id(), setup->agents.at("reef"), setup}; }
  std::vector<Entry> entries() {
    return test::value_of(test::run(io, sessions.read(id()))).entries();
  }

  boost::asio::io_context io{1};
  Pool pool{1};
  SystemClock clock;
  SeededRandom random{7};
  store::FsTranscripts store;
  store::FsJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  store::FsDocuments documents;
  memory::Memories memories;
  Compactions compactions{io.get_executor(), sessions, memories};
  std::shared_ptr<StrictModel> model = std::make_shared<StrictModel>(io.get_executor());
  std::shared_ptr<Setup> setup = std::make_shared<Setup>();
};

// Returns true when the work was done.
using Work = std::function<bool(Life&)>;

// Does the work with a crash at each system call in turn; `outcomes` holds how many entries of
// `type` the crashes left.
void sweep(const Work& work, std::string_view type) {
  bool met = true;
  std::set<std::size_t> outcomes;
  for (int nth = 1; met; ++nth) {
    ASSERT_LT(nth, 500);
    const test::TempDir folder;
    ::mkdir((folder / "sessions").c_str(), 0700);
    std::size_t before = 0;
    bool done = false;
    {
      test::FaultyFiles files;
      Life life(folder.path(), files);
      life.talk();
      before = life.entries().size();
      files.fail_at(nth, EIO, true);
      done = work(life);
      met = files.hit();
    }
    PosixFiles files;
    Life again(folder.path(), files);
    ASSERT_TRUE(test::run(again.io, again.sessions.load()));
    const auto entries = again.entries();
    const auto made = static_cast<std::size_t>(std::count_if(
        entries.begin(), entries.end(), [&](const Entry& entry) { return entry.type == type; }));
    outcomes.insert(made);
    ASSERT_LE(made, 1U) << nth;
    ASSERT_EQ(entries.size(), before + made) << nth;
    if (done) ASSERT_EQ(made, 1U) << "said to be done, call " << nth;
    if (made == 0) ASSERT_TRUE(work(again)) << "the next attempt, call " << nth;
    const auto session = test::value_of(test::run(again.io, again.sessions.open(again.id())));
    ASSERT_TRUE(test::run(again.io, session->append(says(true, "still there?")))) << nth;
  }
  EXPECT_EQ(outcomes, (std::set<std::size_t>{0, 1}));
}

TEST(ContextCrash, Compaction) {
  sweep(
      [](Life& life) { return test::run(life.io, life.compactions.compact(life.request())).ok(); },
      "compaction");
}

TEST(ContextCrash, Title) {
  sweep(
      [](Life& life) {
        life.model->words = "Lines of the harbour";
        TitleRequest request{life.id(), life.setup->agents.at("reef"), life.setup, false};
        return test::run(life.io, make_title(life.sessions, std::move(request))).ok();
      },
      "session_info");
}

TEST(ContextCrash, RewindWithASummary) {
  sweep(
      [](Life& life) {
        const auto read = test::run(life.io, life.sessions.read(life.id()));
        if (!read) return false;
        const auto place = read->entries().at(10).id;
        return test::run(life.io, life.compactions.rewind(life.request(), place)).ok();
      },
      "branch_summary");
}

}  // namespace
}  // namespace reef::runtime
