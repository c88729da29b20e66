// What a running daemon consists of, in the order of dependencies, so that it is destroyed in the
// reverse order. Here it is only put together: daemon.cpp says what begins and ends when, and
// in_force.h what a configuration changes. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/pool.h"
#include "base/random.h"
#include "bus/bus.h"
#include "daemon/components.h"
#include "daemon/config.h"
#include "daemon/home.h"
#include "exchange/import.h"
#include "hooks/hooks.h"
#include "mcp/mcp.h"
#include "memory/memory.h"
#include "model/http_provider.h"
#include "model/model_lists.h"
#include "oauth/oauth.h"
#include "organise/organise.h"
#include "recall/recall.h"
#include "runtime/compaction.h"
#include "runtime/live.h"
#include "runtime/runtime.h"
#include "runtime/tasks.h"
#include "server/entrance.h"
#include "server/ledger.h"
#include "session/attachments.h"
#include "session/document_folders.h"
#include "session/session.h"
#include "skills/library.h"
#include "store/store.h"

namespace reef::daemon {

struct Engine {
  struct Needs {
    Executor loop;
    const Home& home;
    mode_t users_umask;
    std::function<const Config&()> config;  // the one in force
    // Tells the present name of an agent that had this name at that time.
    std::function<std::string(const std::string& agent, TimePoint then)> name_now;
    std::function<Task<Status>()> reload_agents;  // reads agents/ again
  };
  explicit Engine(Needs given);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // It is made when somebody needs it.
  http::Client& http();
  model::HttpNeeds http_needs() { return {http(), pool, clock, random}; }

  const Needs needs;
  SystemClock clock;
  SystemRandom random;
  PosixFiles files;
  store::FsDocuments documents;  // before the pool, which ends what it has to do with them
  Pool pool;
  store::FsTranscripts transcripts;
  store::FsJournal catalog;
  store::FsJournal answers;
  session::DocumentFolders folders;
  session::Sessions sessions;
  session::Attachments attachments;
  memory::Memories memories;
  organise::Definitions definitions;
  organise::Changes changes;
  std::unique_ptr<http::Client> made_http;
  oauth::Accounts accounts;
  mcp::Connections mcps;
  Components components;
  skills::Library skills;
  runtime::Tasks tasks;  // declared before its users: entries must not outlive it
  runtime::Compactions compactions;
  runtime::Runtime runtime;
  runtime::Live live;
  bus::Bus bus;
  exchange::Importer importer;
  recall::Recall recall;
  model::ModelLists model_lists;
  server::Ledger ledger;
  server::Entrance entrance;
  std::shared_ptr<hooks::InstructionsHook> instructions;
  std::shared_ptr<hooks::DelegateHook> delegate;

 private:
  void add_hooks();
};

// $HOME, else what the system says.
std::string user_home();

}  // namespace reef::daemon
