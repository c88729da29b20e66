// A node without a daemon: its sessions are in memory, the rest in a folder that goes with it, and
// its models talk to nobody.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bus/bus.h"
#include "exchange/import.h"
#include "local/local.h"
#include "memory/memory.h"
#include "model/scripted/scripted.h"
#include "organise/organise.h"
#include "recall/recall.h"
#include "runtime/compaction.h"
#include "runtime/live.h"
#include "runtime/runtime.h"
#include "runtime/tasks.h"
#include "server/agents.h"
#include "server/entrance.h"
#include "server/ledger.h"
#include "server/mcps.h"
#include "server/models.h"
#include "server/server.h"
#include "session/attachments.h"
#include "session/document_folders.h"
#include "session/session.h"
#include "skills/library.h"
#include "store/store.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::server {

using protocol::ClientMessage;
using protocol::ServerMessage;

inline Task<std::vector<ServerMessage>> read_all(protocol::Answer answer) {
  std::vector<ServerMessage> out;
  for (;;) {
    auto message = co_await answer->next();
    if (!message) co_return out;
    out.push_back(std::move(*message));
  }
}

class NodeTest : public testing::Test {
 protected:
  NodeTest() {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("local", std::make_shared<local::LocalProvider>());
    setup->providers.add("s", std::make_shared<model::ScriptedProvider>(*model::parse_script(
                                  R"({"replies":[{"fail":"auth","message":"bad key"}]})")));
    setup->agents["reef"] = runtime::Agent{"reef", "", "local", "", {}};
    setup->agents["broken"] = runtime::Agent{"broken", "", "s/x", "", {}};
    runtime.configure(std::move(setup));
    EXPECT_TRUE(test::run(io, recall.load()));
  }
  ~NodeTest() override {
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, entrance.stop());
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
  store::MemTranscripts store;
  store::MemJournal catalog;
  test::TempDir folder;
  PosixFiles files;
  Pool pool{2};
  store::FsDocuments documents{files, folder.path()};
  memory::Memories memories{io.get_executor(), documents, pool, clock};
  session::Sessions sessions{
      io.get_executor(),
      store,
      catalog,
      clock,
      random,
      session::Sessions::Needs{.on_change = [this](const session::SessionId& id, bool rewritten) {
        recall.changed(id, rewritten);
      }}};
  session::DocumentFolders folders{documents, pool};
  session::Attachments attachments{io.get_executor(), sessions, store, folders};
  skills::Library skills{files, pool, folder / "skills"};
  runtime::Tasks tasks{io.get_executor(), clock};
  runtime::Runtime runtime{io.get_executor(), sessions, clock};
  runtime::Live live{sessions, runtime.broadcast()};
  bus::Bus bus{io.get_executor(), documents, pool, runtime};
  exchange::Importer imports{exchange::ImportNeeds{io.get_executor(), files, documents, pool,
                                                   sessions, store, clock, random, folder.path()}};
  organise::Definitions definitions{io.get_executor(), documents, pool};
  organise::Changes changes{io.get_executor(), sessions, definitions, pool};
  recall::Recall recall{io.get_executor(), sessions, store, pool, files, folder / "index"};
  model::ModelLists lists{io.get_executor()};
  store::MemJournal answers;
  Ledger ledger{io.get_executor(), answers, clock};
  Entrance entrance{io.get_executor(), runtime};
  std::vector<std::string> noted;
  int reloads = 0;
  int shutdowns = 0;
  Status reload_result = Ok{};
  runtime::Compactions compactions{io.get_executor(), sessions, memories};
  const Node node{.runtime = runtime,
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
                  .entrance = entrance,
                  .clock = clock,
                  .pool = pool,
                  .home = folder.path(),
                  .reload = [this] { return reload(); },
                  .shutdown = [this] { ++shutdowns; },
                  .fill_stats = [](protocol::Stats& stats) { stats.set_pid(42); },
                  .models = std::make_shared<const Models>(models()),
                  .agents = std::make_shared<const Agents>(agents()),
                  .mcps = std::make_shared<const Mcps>()};

  Agents agents() {
    Agents out;
    out.create = out.update = [this](std::string name, std::string, std::string) {
      return note("write " + name);
    };
    out.rename = [this](std::string from, std::string to) {
      return note("rename " + from + " " + to);
    };
    out.remove = [this](std::string name) { return note("remove " + name); };
    return out;
  }
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

}  // namespace reef::server
