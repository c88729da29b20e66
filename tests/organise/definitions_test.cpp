// The files of a home: found, watched, changed one at a time, never written over when broken.
#include "organise/definitions.h"

#include <cerrno>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "organise/changes.h"
#include "store/fs/fs_documents.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::organise {
namespace {

using Which = Definitions::Which;

class DefinitionsTest : public testing::Test {
 protected:
  std::shared_ptr<const Defined> look() { return test::run(io, definitions.look()); }
  Status add(const std::string& id) {
    return test::run(io, definitions.change(Which::labels, [id](std::string_view text) {
      return add_label(text, {id, "", "", ValueType::none, ""});
    }));
  }
  std::string labels_toml() { return test::read_file(home / "labels.toml"); }
  void write_labels(const std::string& text) { test::write_file(home / "labels.toml", text); }

  boost::asio::io_context io{1};
  test::TempDir home;
  test::FaultyFiles files;
  store::FsDocuments documents{files, home.path()};
  Pool pool{2};
  Definitions definitions{io.get_executor(), documents, pool};
};

TEST_F(DefinitionsTest, AnEmptyHomeHasWhatIsShipped) {
  EXPECT_EQ(definitions.known()->statuses.all().size(), 6U);
  EXPECT_EQ(look()->statuses.all().size(), 6U);
  EXPECT_TRUE(look()->labels.all().empty());
  EXPECT_EQ(look()->views.all().size(), 7U);
  EXPECT_TRUE(look()->problems.empty());
}

TEST_F(DefinitionsTest, AnEditByHandIsSeenAtTheNextLook) {
  for (int i = 0; i < 50; ++i) {
    // Each edit leaves the size as it was and comes sooner than the file system's clock ticks.
    write_labels(fmt::format("[[label]]\nid='a{:02}'\n", i));
    ASSERT_TRUE(look()->labels.find(fmt::format("a{:02}", i))) << i;
  }
  ASSERT_EQ(::remove((home / "labels.toml").c_str()), 0);
  EXPECT_TRUE(look()->labels.all().empty());
}

TEST_F(DefinitionsTest, ABrokenFileIsReportedAndTheLastGoodOneStays) {
  write_labels("[[label]]\nid='good'\n");
  const auto before = look();
  write_labels("[[label]]\nid='go");
  const auto broken = look();
  ASSERT_EQ(broken->problems.size(), 1U);
  EXPECT_TRUE(broken->problems[0].starts_with("labels.toml:2: ")) << broken->problems[0];
  EXPECT_TRUE(broken->labels.find("good"));
  EXPECT_TRUE(before->problems.empty());  // a snapshot that is held does not change
  // The other files are still read.
  test::write_file(home / "views.toml", "[[view]]\nid='v'\nfilter='x'\n");
  EXPECT_TRUE(look()->views.find("v"));
  EXPECT_EQ(look()->problems.size(), 1U);
  const auto refused = add("new");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_NE(refused.error().what.find("not written over"), std::string::npos);
  EXPECT_EQ(labels_toml(), "[[label]]\nid='go");
  write_labels("[[label]]\nid='mended'\n");
  EXPECT_TRUE(look()->problems.empty());
  EXPECT_TRUE(add("new"));
}

TEST_F(DefinitionsTest, AFolderOrAnOversizedFileIsReported) {
  ASSERT_EQ(::mkdir((home / "labels.toml").c_str(), 0700), 0);
  EXPECT_EQ(look()->problems.size(), 1U);
  EXPECT_FALSE(add("x"));
  ASSERT_EQ(::rmdir((home / "labels.toml").c_str()), 0);
  write_labels(std::string(2U << 20, '#'));
  ASSERT_EQ(look()->problems.size(), 1U);
  EXPECT_NE(look()->problems[0].find("bytes"), std::string::npos);
  EXPECT_FALSE(add("x"));
  write_labels("");
  EXPECT_TRUE(look()->problems.empty());
}

TEST_F(DefinitionsTest, ManyChangesAtOnceAreAllMade) {
  constexpr int kCount = 30;
  int done = 0;
  const auto add_one = [](Definitions& all, std::string id, int& count) -> Task<void> {
    const auto added = co_await all.change(Which::labels, [id](std::string_view text) {
      return add_label(text, {id, "", "", ValueType::none, ""});
    });
    EXPECT_TRUE(added);
    ++count;
  };
  TaskGroup group(io.get_executor(), "test");
  for (int i = 0; i < kCount; ++i) group.spawn(add_one(definitions, fmt::format("l{}", i), done));
  io.run();
  EXPECT_EQ(done, kCount);
  EXPECT_EQ(definitions.known()->labels.all().size(), std::size_t{kCount});
}

TEST_F(DefinitionsTest, AnEditInTheMiddleOfAChangeIsKept) {
  int calls = 0;
  const auto done = test::run(io, definitions.change(Which::labels, [&](std::string_view text) {
    // Somebody saves the file while the change is being made.
    if (++calls == 1) write_labels("# by hand\n[[label]]\nid='by-hand'\n");
    return add_label(text, {"by-operation", "", "", ValueType::none, ""});
  }));
  ASSERT_TRUE(done);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(look()->labels.find("by-hand"));
  EXPECT_TRUE(look()->labels.find("by-operation"));
  EXPECT_TRUE(labels_toml().starts_with("# by hand\n"));
}

TEST_F(DefinitionsTest, AFailedWriteChangesNothingWhicheverCallFails) {
  write_labels("[[label]]\nid='a'\n");
  look();
  for (int nth = 1;; ++nth) {
    const auto before = labels_toml();
    files.fail_at(nth, ENOSPC);
    const auto done = add("b");
    const bool hit = files.hit();
    files.heal();
    if (!hit) {
      EXPECT_TRUE(done);
      break;
    }
    // A sync that fails after the rename leaves the new text; any other failure leaves the old one.
    const auto after = labels_toml();
    EXPECT_TRUE(after == before || after == *add_label(before, {"b", "", "", ValueType::none, ""}));
    EXPECT_TRUE(look()->problems.empty()) << look()->problems[0];
    write_labels("[[label]]\nid='a'\n");
    ASSERT_LT(nth, 200);
  }
  EXPECT_TRUE(look()->labels.find("b"));
}

class ChangesTest : public DefinitionsTest {
 protected:
  ChangesTest() {
    write_labels(
        "[[label]]\nid='a'\n[[label]]\nid='n'\ntype='number'\n"
        "[[rule]]\nlabel='n'\npattern='n=(\\d+)'\n");
  }
  ~ChangesTest() override {
    test::run(io, changes.stop());
    test::run(io, sessions.stop());
  }
  session::SessionId make(const std::string& meta) {
    session::Sessions::New request{{}, "reef", "user", "", {}};
    request.drafts.push_back(session::draft_meta(json::parse(meta)->as_object()));
    return (*test::run(io, sessions.create(std::move(request))))->id();
  }
  Result<bool> apply(const session::SessionId& id, Change change,
                     Changes::Same same = Changes::Same::write) {
    return test::run(io, changes.apply(id, std::move(change), same));
  }
  std::string labels(const session::SessionId& id) {
    const auto* list = sessions.find(id)->meta.if_contains("labels");
    return list ? json::write(*list) : "none";
  }

  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  Changes changes{io.get_executor(), sessions, definitions, pool};
};

TEST_F(ChangesTest, UndefinedValuesAreRefusedAndExistingOnesKept) {
  const auto id = make(R"({"labels":["gone","n::odd"],"sessionStatus":"vanished"})");
  EXPECT_FALSE(apply(id, {{{"labels", json::array{"other"}}}, {}, {}}));
  EXPECT_FALSE(apply(id, {{{"sessionStatus", "other"}}, {}, {}}));
  EXPECT_FALSE(apply(id, {{}, {"n::x"}, {}}));
  EXPECT_FALSE(apply(id, {}));
  // A value the session already has is accepted, even one that is no longer defined.
  EXPECT_TRUE(apply(id, {{{"labels", json::array{"gone", "n::odd", "a"}}}, {}, {}}));
  EXPECT_TRUE(apply(id, {{{"sessionStatus", "vanished"}}, {}, {}}));
  EXPECT_TRUE(apply(id, {{}, {"n::5"}, {"gone"}}));
  EXPECT_EQ(labels(id), R"(["n::odd","a","n::5"])");
  EXPECT_TRUE(apply(id, {{}, {}, {"n"}}));
  EXPECT_EQ(labels(id), R"(["a"])");
  EXPECT_TRUE(apply(id, {{}, {}, {"a", "never"}}));
  EXPECT_EQ(labels(id), "none");
}

TEST_F(ChangesTest, NothingIsWrittenWhenNothingChanges) {
  const auto id = make(R"({"labels":["a"],"isFlagged":true})");
  const auto bytes = sessions.find(id)->bytes;
  EXPECT_FALSE(*apply(id, {{{"isFlagged", true}}, {"a"}, {"n"}}, Changes::Same::skip));
  EXPECT_FALSE(*apply(id, {{{"isArchived", nullptr}}, {}, {}}, Changes::Same::skip));
  EXPECT_EQ(sessions.find(id)->bytes, bytes);
  EXPECT_TRUE(*apply(id, {{{"isFlagged", true}}, {"n::1"}, {}}, Changes::Same::skip));
}

TEST_F(ChangesTest, LabelsAddedFromManySidesAreAllThere) {
  const auto id = make("{}");
  const auto add_one = [](Changes& all, session::SessionId to, int n) -> Task<void> {
    const auto done =
        co_await all.apply(to, {{}, {fmt::format("n::{}", n)}, {}}, Changes::Same::skip);
    EXPECT_TRUE(done && *done);
  };
  TaskGroup group(io.get_executor(), "test");
  for (int i = 0; i < 40; ++i) group.spawn(add_one(changes, id, i));
  test::run(io, group.join());
  EXPECT_EQ(sessions.find(id)->meta.at("labels").as_array().size(), 40U);
}

TEST_F(ChangesTest, WordsAreLabelledInTheBackground) {
  const auto id = make(R"({"labels":["gone"]})");
  changes.take_words(id, "n=3 and n=4");
  test::run(io, changes.stop());
  EXPECT_EQ(labels(id), R"(["gone","n::3","n::4"])");
  const auto bytes = sessions.find(id)->bytes;
  changes.take_words(id, "n=3");
  test::run(io, changes.stop());
  EXPECT_EQ(sessions.find(id)->bytes, bytes);
  changes.take_words(*session::SessionId::parse("not-there"), "n=3");
  test::run(io, changes.stop());
}

}  // namespace
}  // namespace reef::organise
