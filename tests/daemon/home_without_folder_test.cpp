// Those who keep something in a home do so by names alone: all of it works where there is no
// folder.
#include <gtest/gtest.h>

#include "bus/bus.h"
#include "daemon/agent_files.h"
#include "daemon/config.h"
#include "local/local.h"
#include "memory/memory.h"
#include "organise/organise.h"
#include "runtime/runtime.h"
#include "session/document_folders.h"
#include "store/mem/mem_documents.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"

namespace reef::daemon {
namespace {

class HomeWithoutAFolder : public testing::Test {
 protected:
  std::string read(const std::string& name) {
    const auto there = test::value_of(documents.read(name, 1U << 20));
    return there ? there->bytes : "(none)";
  }

  boost::asio::io_context io{1};
  store::MemDocuments documents;
  Pool pool{2};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
};

TEST_F(HomeWithoutAFolder, DefinitionsAreChangedAndSeen) {
  organise::Definitions definitions(io.get_executor(), documents, pool);
  EXPECT_EQ(test::run(io, definitions.look())->statuses.all().size(), 6U);
  ASSERT_TRUE(test::run(
      io, definitions.change(organise::Definitions::Which::labels, [](std::string_view text) {
        return organise::add_label(text, {"a", "", "", {}, ""});
      })));
  EXPECT_TRUE(test::run(io, definitions.look())->labels.find("a"));
  // By somebody else.
  test::value_of(documents.replace("labels.toml", "[[label]]\nid='b'\n", session::Whatever{}));
  EXPECT_TRUE(test::run(io, definitions.look())->labels.find("b"));
  EXPECT_FALSE(test::run(io, definitions.look())->labels.find("a"));
}

TEST_F(HomeWithoutAFolder, SubscriptionsAreKept) {
  session::Sessions sessions(io.get_executor(), store, catalog, clock, random);
  runtime::Runtime runtime(io.get_executor(), sessions, clock);
  auto setup = std::make_shared<runtime::Setup>();
  setup->providers.add("local", std::make_shared<local::LocalProvider>());
  setup->agents = load_agents(AgentFiles{documents}).agents;
  runtime.configure(std::move(setup));
  {
    bus::Bus bus(io.get_executor(), documents, pool, runtime);
    ASSERT_TRUE(test::run(io, bus.subscribe("a:*", "reef", false)));
    test::run(io, bus.stop());
  }
  bus::Bus again(io.get_executor(), documents, pool, runtime);
  ASSERT_TRUE(test::run(io, again.load()));
  ASSERT_EQ(again.list().size(), 1U);
  EXPECT_EQ(again.list()[0].source, "a:*");
  test::run(io, again.stop());
  test::run(io, runtime.drain(std::chrono::milliseconds(0)));
  test::run(io, sessions.stop());
}

TEST_F(HomeWithoutAFolder, MemoriesAreKeptAndFollowAnAgentsName) {
  memory::Memories memories(io.get_executor(), documents, pool, clock);
  EXPECT_FALSE(test::value_of(test::run(io, memories.exists("scout"))));
  auto memory = test::value_of(memories.of("scout"));
  ASSERT_TRUE(test::run(io, memory->apply(memory::Add{"note", "words", {}, {}})));
  ASSERT_TRUE(test::run(io, memories.rename("scout", "ranger")));
  ASSERT_TRUE(test::run(io, memories.rename("nobody", "ranger")));
  EXPECT_FALSE(test::value_of(test::run(io, memories.exists("scout"))));
  memory = test::value_of(memories.of("ranger"));
  EXPECT_EQ(test::value_of(test::run(io, memory->recall("words", 5))).size(), 1U);
}

TEST_F(HomeWithoutAFolder, AgentsAreWrittenReadAndRemoved) {
  const AgentFiles files{documents};
  ASSERT_TRUE(files.write("scout", "You look.", "description = \"d\"\n"));
  ASSERT_EQ(load_agents(files).agents.at("scout").prompt, "You look.");
  ASSERT_TRUE(files.remove("scout"));
  EXPECT_FALSE(load_agents(files).agents.contains("scout"));
  EXPECT_EQ(read("agents/removed/scout.md"), "You look.");
}

TEST_F(HomeWithoutAFolder, FilesOfASessionComeAndGo) {
  session::DocumentFolders folders(documents, pool);
  const auto id = test::value_of(session::SessionId::parse("s"));
  const auto give = [&](const std::string& name, const std::string& bytes) {
    const auto file = test::value_of(test::run(io, folders.receive()));
    EXPECT_TRUE(test::run(io, file->write(bytes)));
    return test::value_of(test::run(io, file->keep(id, name)));
  };
  EXPECT_EQ(give("a.txt", "one").file.path, "attachments/a.txt");
  EXPECT_EQ(give("a.txt", "two").file.path, "attachments/a-2.txt");
  EXPECT_FALSE(give("b.txt", "one").fresh);
  EXPECT_EQ(test::value_of(test::run(io, folders.list(id, "", 10, ""))).files.size(), 2U);
  const auto opened = test::value_of(test::run(io, folders.open(id, "attachments/a-2.txt")));
  EXPECT_EQ(test::value_of(test::run(io, opened->read(0, 10))), "two");
  ASSERT_TRUE(test::run(io, folders.remove(id, "attachments/a-2.txt")));
  EXPECT_EQ(read("sessions/s/attachments/a-2.txt"), "(none)");
}

}  // namespace
}  // namespace reef::daemon
