#include "daemon/engine.h"

#include <cstdlib>
#include <pwd.h>
#include <unistd.h>

#include "bus/done_hook.h"
#include "daemon/import_definitions.h"
#include "local/local.h"
#include "model/key.h"

namespace reef::daemon {
namespace {

constexpr std::size_t kPoolThreadsMax = 16;
constexpr std::chrono::milliseconds kSecretPatience{10'000};

// Reads a secret of an MCP server: env:NAME or cmd:COMMAND, else the text itself.
Task<Result<std::string>> fetch_secret(Pool& pool, std::string source) {
  if (!source.starts_with("env:") && !source.starts_with("cmd:")) co_return source;
  auto work = [source](std::stop_token stop) {
    return model::read_key(model::key_source_from(source), kSecretPatience, std::move(stop));
  };
  co_return co_await pool.run_leavable(work);
}

// Lists work on the index among what runs, as long as the returned pointer is held.
std::shared_ptr<void> index_task(runtime::Tasks& tasks, std::string what) {
  runtime::TaskInfo info{"index", std::move(what)};
  std::shared_ptr<runtime::Tasks::Entry> entry = tasks.begin(std::move(info));
  return {nullptr, [entry](void*) { entry->end(runtime::TaskInfo::State::done); }};
}

// The context window of the model in the caller's session; 0 when it is not known.
std::int64_t context_window(const runtime::Runtime& runtime, const session::Sessions& sessions,
                            const runtime::Caller& caller) {
  const auto model = runtime::model_for(sessions.find(caller.session), caller.agent);
  const auto route = runtime.setup().providers.route(model);
  return route ? route->facts.context_window : 0;
}

}  // namespace

std::string user_home() {
  if (const char* home = std::getenv("HOME"); home && *home == '/') return home;
  const auto* user = ::getpwuid(::getuid());
  return user && user->pw_dir ? user->pw_dir : "/";
}

Engine::Engine(Needs given)
    : needs(std::move(given)),
      documents(files, needs.home.root),
      pool(kPoolThreadsMax),
      transcripts(files, pool, needs.home.root),
      catalog(files, pool, store::catalog_of(needs.home.root), store::FsJournal::Durable::no),
      answers(files, pool, needs.home.answers(), store::FsJournal::Durable::yes),
      folders(documents, pool),
      sessions(needs.loop, transcripts, catalog, clock, random,
               {.folders = &folders,
                .on_change = [this](const session::SessionId& id,
                                    bool rewritten) { recall.changed(id, rewritten); },
                .name_now = needs.name_now}),
      attachments(needs.loop, sessions, transcripts, folders,
                  [this] { return needs.config().attachment_bytes_max; }),
      memories(needs.loop, documents, pool, clock),
      definitions(needs.loop, documents, pool),
      changes(needs.loop, sessions, definitions, pool),
      accounts(
          {.loop = needs.loop,
           .clock = clock,
           .http = [this]() -> http::Client& { return http(); },
           .fetch = [this](std::string source) { return fetch_secret(pool, std::move(source)); },
           .files = files,
           .pool = pool,
           .documents = &documents},
          [this](const oauth::Account& account) { mcps.account_changed(account); }),
      mcps({.loop = needs.loop,
            .clock = clock,
            .http = [this]() -> http::Client& { return http(); },
            .fetch = [this](std::string source) { return fetch_secret(pool, std::move(source)); },
            .find_component = [this](const std::string& name) { return components.place_of(name); },
            .chance = [this] { return random.next(); },
            .accounts = &accounts,
            .idle = [this] { return needs.config().mcp_idle; }}),
      components(needs.loop, needs.home.run(),
                 [this](const std::string& name) { mcps.component_changed(name); }),
      skills(files, pool, needs.home.skills()),
      tasks(needs.loop, clock),
      compactions(needs.loop, sessions, memories, &tasks),
      runtime(needs.loop, sessions, clock,
              {.compactions = &compactions,
               .on_words = [this](const session::SessionId& id,
                                  const std::string& words) { changes.take_words(id, words); }}),
      live(sessions, runtime.broadcast()),
      bus(needs.loop, documents, pool, runtime),
      importer(
          {.loop = needs.loop,
           .files = files,
           .documents = documents,
           .pool = pool,
           .sessions = sessions,
           .transcripts = transcripts,
           .clock = clock,
           .random = random,
           .home = needs.home.root,
           .organise =
               [this](exchange::Definition one) {
                 return keep_definition(definitions, std::move(one));
               },
           .remember =
               [this](exchange::Definition one) {
                 return keep_note(memories, runtime.setup(), std::move(one));
               },
           .subscribe =
               [this](exchange::Definition one) {
                 return keep_subscription(bus, needs.reload_agents, std::move(one));
               },
           .quiet = [this] { return recall.hold(); },
           .own_mode =
               [this](const std::string& agent, const std::string& sender, const std::string& key) {
                 return permission_mode_of(runtime.setup(), agent, sender, key);
               }}),
      recall(needs.loop, sessions, transcripts, pool, files, needs.home.index(),
             [this](std::string what) { return index_task(tasks, std::move(what)); }),
      model_lists(needs.loop),
      ledger(needs.loop, answers, clock),
      entrance(needs.loop, runtime),
      instructions(
          std::make_shared<hooks::InstructionsHook>(files, documents, pool, needs.home.root)),
      delegate(
          std::make_shared<hooks::DelegateHook>(hooks::DelegateHook::Needs{.loop = needs.loop,
                                                                           .pool = pool,
                                                                           .runtime = runtime,
                                                                           .sessions = sessions,
                                                                           .bus = bus,
                                                                           .random = random})) {
  add_hooks();
}

void Engine::add_hooks() {
  auto& hooks = runtime.hooks();
  hooks.add(std::make_shared<hooks::AskUserHook>());
  hooks.add(std::make_shared<hooks::MemoryHook>(memories, sessions));
  hooks.add(
      std::make_shared<hooks::SessionsHook>(recall, sessions, [this](const std::string& terms) {
        return organise::row_test(terms, definitions.known(), clock.now());
      }));
  hooks.add(std::make_shared<hooks::TitleHook>(sessions));
  hooks.add(instructions);
  hooks.add(std::make_shared<hooks::SkillHook>(skills));
  hooks.add(delegate);
  hooks.add(std::make_shared<hooks::TasksHook>(tasks, runtime));
  hooks.add(std::make_shared<bus::DoneHook>(bus));
  hooks.add(std::make_shared<hooks::OsHook>(
      hooks::OsHook::Needs{.loop = needs.loop,
                           .pool = pool,
                           .documents = documents,
                           .clock = clock,
                           .sessions = sessions,
                           .reef_home = needs.home.root,
                           .user_home = user_home(),
                           .umask = needs.users_umask,
                           .context_window = [this](const runtime::Caller& caller) {
                             return context_window(runtime, sessions, caller);
                           }}));
  hooks.add(std::make_shared<hooks::McpHook>(
      mcps, [this](const std::string& agent) { runtime.forget_offer(agent); }));
}

http::Client& Engine::http() {
  if (!made_http) made_http = std::make_unique<http::Client>(needs.loop);
  return *made_http;
}

}  // namespace reef::daemon
