#include "daemon/daemon.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include "base/ancestry.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "bus/bus.h"
#include "bus/done_hook.h"
#include "daemon/agent_changes.h"
#include "daemon/components.h"
#include "daemon/config.h"
#include "daemon/config_changes.h"
#include "daemon/config_edit.h"
#include "daemon/home.h"
#include "daemon/import_definitions.h"
#include "daemon/last_resort.h"
#include "daemon/listeners.h"
#include "daemon/mcp_config.h"
#include "daemon/memory_keeper.h"
#include "daemon/setup.h"
#include "daemon/systemd.h"
#include "daemon/toml_json.h"
#include "exchange/import.h"
#include "hooks/hooks.h"
#include "local/local.h"
#include "mcp/mcp.h"
#include "memory/memory.h"
#include "model/scripted/scripted.h"
#include "oauth/oauth.h"
#include "organise/organise.h"
#include "policy/policy.h"
#include "recall/recall.h"
#include "runtime/compaction.h"
#include "runtime/live.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"
#include "runtime/tasks.h"
#include "server/agents.h"
#include "server/entrance.h"
#include "server/ledger.h"
#include "server/mcps.h"
#include "server/models.h"
#include "server/server.h"
#include "session/attachments.h"
#include "session/document_folders.h"
#include "skills/library.h"
#include "store/store.h"
#include "transport/transport.h"

namespace reef::daemon {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kPoolThreadsMax = 16;
constexpr std::chrono::milliseconds kSecretPatience{10'000};
// Together these stay under the five seconds a stop may take.
constexpr std::chrono::milliseconds kDrainGrace{2'500};
constexpr std::chrono::milliseconds kSettleGrace{500};
// After this nothing is waited for. Sanitizers make everything slow, and report at the end.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::chrono::milliseconds kStopMax{40'000};
#else
constexpr std::chrono::milliseconds kStopMax{4'700};
#endif

std::uint64_t resident_bytes() {
  unsigned long total = 0;
  unsigned long resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return std::uint64_t{resident} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string user_home() {
  if (const char* home = std::getenv("HOME"); home && *home == '/') return home;
  const auto* user = ::getpwuid(::getuid());
  return user && user->pw_dir ? user->pw_dir : "/";
}

void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

// The members stand in the order of their dependencies, so they are destroyed in the reverse order.
class Daemon {
 public:
  Daemon(asio::io_context& io, Home home, session::Hold& hold, mode_t users_umask,
         LastResort& last_resort)
      : io_(io),
        last_resort_(last_resort),
        home_(std::move(home)),
        hold_(hold),
        documents_(files_, home_.root),
        pool_(kPoolThreadsMax),
        transcripts_(files_, pool_, home_.root),
        catalog_(files_, pool_, store::catalog_of(home_.root), store::FsJournal::Durable::no),
        answers_(files_, pool_, home_.answers(), store::FsJournal::Durable::yes),
        folders_(documents_, pool_),
        sessions_(
            io.get_executor(), transcripts_, catalog_, clock_, random_,
            {.folders = &folders_,
             .on_change = [this](const session::SessionId& id,
                                 bool rewritten) { recall_.changed(id, rewritten); },
             .name_now = [this](const std::string& agent,
                                TimePoint then) { return agent_changes_.name_now(agent, then); }}),
        attachments_(io.get_executor(), sessions_, transcripts_, folders_,
                     [this] { return config_.attachment_bytes_max; }),
        memories_(io.get_executor(), documents_, pool_, clock_),
        definitions_(io.get_executor(), documents_, pool_),
        changes_(io.get_executor(), sessions_, definitions_, pool_),
        accounts_(
            oauth::Needs{io.get_executor(), clock_, [this]() -> http::Client& { return http(); },
                         [this](std::string source) { return fetch_secret(std::move(source)); },
                         files_, pool_, &documents_},
            [this](const oauth::Account& account) { mcps_.account_changed(account); }),
        mcps_(mcp::Connections::Needs{
            io.get_executor(), clock_, [this]() -> http::Client& { return http(); },
            [this](std::string source) { return fetch_secret(std::move(source)); },
            [this](const std::string& name) { return components_.place_of(name); },
            [this] { return random_.next(); }, &accounts_, [this] { return config_.mcp_idle; }}),
        components_(io.get_executor(), home_.run(),
                    [this](const std::string& name) { mcps_.component_changed(name); }),
        skills_(files_, pool_, home_.skills()),
        running_(io.get_executor(), clock_),
        compactions_(io.get_executor(), sessions_, memories_, &running_),
        runtime_(
            io.get_executor(), sessions_, clock_,
            {.compactions = &compactions_,
             .on_words = [this](const session::SessionId& id,
                                const std::string& words) { changes_.take_words(id, words); }}),
        live_(sessions_, runtime_.broadcast()),
        bus_(io.get_executor(), documents_, pool_, runtime_),
        importer_(exchange::ImportNeeds{
            .loop = io.get_executor(),
            .files = files_,
            .documents = documents_,
            .pool = pool_,
            .sessions = sessions_,
            .transcripts = transcripts_,
            .clock = clock_,
            .random = random_,
            .home = home_.root,
            .organise =
                [this](exchange::Definition d) {
                  return keep_definition(definitions_, std::move(d));
                },
            .remember = [this](exchange::Definition d) { return remember(std::move(d)); },
            .subscribe = [this](exchange::Definition d) { return subscribe(std::move(d)); },
            .quiet = [this] { return recall_.hold(); },
            .own_mode = [this](const std::string& agent, const std::string& sender,
                               const std::string& key) { return own_mode(agent, sender, key); }}),
        recall_(io.get_executor(), sessions_, transcripts_, pool_, files_, home_.index(),
                [this](std::string what) { return index_task(std::move(what)); }),
        model_lists_(io.get_executor()),
        ledger_(io.get_executor(), answers_, clock_),
        entrance_(io.get_executor(), runtime_),
        node_{.runtime = runtime_,
              .compactions = compactions_,
              .tasks = running_,
              .live = live_,
              .sessions = sessions_,
              .store = transcripts_,
              .documents = documents_,
              .attachments = attachments_,
              .memories = memories_,
              .skills = skills_,
              .bus = bus_,
              .imports = importer_,
              .definitions = definitions_,
              .changes = changes_,
              .recall = recall_,
              .ledger = ledger_,
              .entrance = entrance_,
              .pool = pool_,
              .home = home_.root,
              .reload = [this] { return shielded(config_changes_.alone(reload())); },
              .shutdown = [this] { stop(); },
              .fill_stats = [this](protocol::Stats& stats) { fill(stats); },
              .models = std::make_shared<const server::Models>(models()),
              .agents = std::make_shared<const server::Agents>(agents()),
              .mcps = std::make_shared<const server::Mcps>(mcps())},
        config_changes_({.loop = io.get_executor(),
                         .files = files_,
                         .pool = pool_,
                         .path = home_.config(),
                         .reload = [this] { return reload_config(); }}),
        agent_changes_(AgentNeeds{.agents = AgentFiles{documents_},
                                  .pool = pool_,
                                  .runtime = runtime_,
                                  .sessions = sessions_,
                                  .memories = memories_,
                                  .reload = [this] { return reload_agents(); },
                                  .bus = bus_,
                                  .rename_in_config =
                                      [this](std::string from, std::string to) {
                                        return rename_in_config(std::move(from), std::move(to));
                                      },
                                  .clock = clock_}),
        instructions_(
            std::make_shared<hooks::InstructionsHook>(files_, documents_, pool_, home_.root)),
        delegate_(std::make_shared<hooks::DelegateHook>(hooks::DelegateHook::Needs{
            io.get_executor(), pool_, runtime_, sessions_, bus_, random_})),
        listeners_({.loop = io.get_executor(),
                    .files = files_,
                    .pool = pool_,
                    .random = random_,
                    .home = home_,
                    .user_home = user_home(),
                    .handler = handler()}),
        memory_keeper_(
            io.get_executor(), pool_, [this] { sessions_.trim_cache(); },
            [this] { return !running_.list().empty(); }),
        signals_(io),
        stopped_(io.get_executor()),
        tasks_(io.get_executor(), "daemon") {
    runtime_.hooks().add(std::make_shared<hooks::AskUserHook>());
    runtime_.hooks().add(std::make_shared<hooks::MemoryHook>(memories_, sessions_));
    runtime_.hooks().add(
        std::make_shared<hooks::SessionsHook>(recall_, sessions_, [this](const std::string& terms) {
          return organise::row_test(terms, definitions_.known(), clock_.now());
        }));
    runtime_.hooks().add(std::make_shared<hooks::TitleHook>(sessions_));
    runtime_.hooks().add(instructions_);
    runtime_.hooks().add(std::make_shared<hooks::SkillHook>(skills_));
    runtime_.hooks().add(delegate_);
    runtime_.hooks().add(std::make_shared<hooks::TasksHook>(running_, runtime_));
    runtime_.hooks().add(std::make_shared<bus::DoneHook>(bus_));
    runtime_.hooks().add(std::make_shared<hooks::OsHook>(hooks::OsHook::Needs{
        io.get_executor(), pool_, documents_, clock_, sessions_, home_.root, user_home(),
        users_umask, [this](const runtime::Caller& caller) { return context_window(caller); }}));
    runtime_.hooks().add(std::make_shared<hooks::McpHook>(
        mcps_, [this](const std::string& agent) { runtime_.forget_offer(agent); }));
  }

  // Does everything that can fail before clients may connect.
  Task<Status> start(const LoadedConfig& read) {
    const auto& config = read.config;
    config_warnings_ = read.warnings;
    ::unlink(home_.tcp_address().c_str());  // left by a daemon that was killed
    if (const auto cleared = exchange::clear_staging(files_, home_.root); !cleared)
      log::warn("{}", cleared.error().what);
    documents_.clean();
    configure_hooks(config);
    recall_.begin_load();
    REEF_CO_CHECK(co_await sessions_.load());
    co_await agent_changes_.load_names();
    // A broken subscription must not keep the daemon from starting.
    if (const auto loaded = co_await bus_.load(); !loaded)
      log::error("events: {}; nobody is subscribed until it is put right", loaded.error().what);
    static_cast<void>(co_await definitions_.look());
    // Without the logins users must log in again, but everything else works.
    if (const auto loaded = co_await accounts_.load(); !loaded)
      log::error("logins: {}", loaded.error().what);
    components_.start();
    REEF_CO_TRY(auto made, make_setup(setup_parts(), config));
    agent_warnings_ = std::move(made.warnings);
    runtime_.configure(std::move(made.setup));
    co_await look_at_names();
    config_ = config;
    REEF_CO_CHECK(listeners_.open(config));

    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.add(SIGHUP);
    signals_.add(SIGCHLD);
    last_resort_.hear_signals(kStopMax);
    tasks_.spawn(take_signals());
    tasks_.spawn(open_index());
    auto lost = hold_.watch(io_.get_executor(), [this](const std::string& why) {
      log::error("this home is not ours any more: {}; stopping", why);
      stop();
    });
    if (lost) {
      hold_watch_ = *std::move(lost);
    } else {
      log::warn("{}", lost.error().what);
    }
    // Without it, other programs' changes are seen at a reload.
    if (const auto watched = sessions_.watch(); !watched) log::warn("{}", watched.error().what);
    memory_keeper_.note();
    co_return Ok{};
  }

  void do_nothing_by_itself() { no_policy_ = true; }
  // Call once clients can connect; the policy is one of them.
  void start_policy() {
    policy_ = std::make_unique<policy::Policy>(
        io_.get_executor(), clock_, client::Endpoint{.unix_path = home_.socket()},
        [this] { return config_.policy_enabled ? config_.policy : policy::Rules::none(); });
    policy_->start();
  }

  Task<void> run() {
    while (!stopping_) co_await stopped_.wait();
    if (policy_) co_await policy_->stop();
    log::info("stopping: {} conversation(s) running", runtime_.active());
    notify_systemd("STOPPING=1");
    listeners_.close_doors();
    importer_.cancel();
    co_await memory_keeper_.stop();
    co_await runtime_.drain(kDrainGrace);
    co_await delegate_->stop();
    co_await bus_.stop();
    co_await compactions_.stop();
    co_await model_lists_.stop();
    co_await components_.stop();
    co_await mcps_.stop();
    co_await listeners_.settle(kSettleGrace);
    co_await listeners_.stop();
    co_await entrance_.stop();
    co_await accounts_.stop();
    co_await importer_.stop();
    co_await changes_.stop();
    co_await sessions_.stop();
    co_await recall_.stop();
    if (http_) co_await http_->stop();
    boost::system::error_code ignored;
    signals_.cancel(ignored);
    tasks_.cancel();
    co_await tasks_.join();
    log::info("stopped");
  }

  // Closes what is there when start() failed.
  Task<void> abandon() {
    co_await memory_keeper_.stop();
    co_await listeners_.stop();
    co_await components_.stop();
    co_await mcps_.stop();
    co_await accounts_.stop();
    co_await sessions_.stop();
    co_await recall_.stop();
    tasks_.cancel();
    co_await tasks_.join();
  }

 private:
  void configure_hooks(const Config& config) {
    instructions_->configure(config.instructions);
    std::vector<std::string> folders;
    for (const auto& path : config.skill_paths)
      folders.push_back(path.starts_with('/')    ? path
                        : path.starts_with("~/") ? user_home() + path.substr(1)
                                                 : home_.root + "/" + path);
    skills_.configure(folders);
    bus_.configure(config.events);
    delegate_->configure(config.delegate);
  }

  // Lists the work among what runs, as long as the returned pointer is held.
  std::shared_ptr<void> index_task(std::string what) {
    runtime::TaskInfo info{"index", std::move(what)};
    std::shared_ptr<runtime::Tasks::Entry> entry = running_.begin(std::move(info));
    return {nullptr, [entry](void*) { entry->end(runtime::TaskInfo::State::done); }};
  }

  // Keeps a note that comes with an import. `crab` means the default agent, unless there is an
  // agent of that name.
  Task<Result<bool>> remember(exchange::Definition entry) {
    const std::string agent(json::find_string(entry.body, "agent").value_or(""));
    const bool comes = json::find_bool(entry.body, "agent_comes").value_or(false);
    if (agent == "crab" && !comes && !runtime_.setup().agents.contains(agent))
      entry.body["agent"] = runtime_.setup().default_agent;
    co_return co_await keep_archive(memories_, std::move(entry));
  }
  Task<Result<bool>> subscribe(exchange::Definition entry) {
    const auto text = [&](std::string_view name) {
      return std::string(json::find_string(entry.body, name).value_or(""));
    };
    const auto source = text("source"), agent = text("target_agent");
    for (const auto& known : bus_.list())
      if (known.source == source && known.target_agent == agent) co_return false;
    const bool once = json::find_bool(entry.body, "once").value_or(false);
    auto done = co_await bus_.subscribe(source, agent, once);
    if (!done && done.error().code == Errc::not_found) {
      // The agent may have come with the same import.
      REEF_CO_CHECK(co_await reload_agents());
      done = co_await bus_.subscribe(source, agent, once);
    }
    if (!done) co_return std::move(done).error();
    co_return true;
  }
  // The permission mode of an imported session that sets none. An agent that does not exist yet
  // counts as a new agent.
  std::string own_mode(const std::string& agent, const std::string& sender,
                       const std::string& key) {
    const auto found = runtime_.setup().find(agent);
    const auto local = runtime::is_local(sender, key);
    const runtime::Agent fresh;
    const auto& own = found ? *found : fresh;
    return std::string(runtime::name_of(local ? own.permission_mode : own.remote_permission_mode));
  }
  // The context window of the model in the caller's session; 0 when it is not known.
  std::int64_t context_window(const runtime::Caller& caller) {
    const auto model = runtime::model_for(sessions_.find(caller.session), caller.agent);
    const auto route = runtime_.setup().providers.route(model);
    return route ? route->facts.context_window : 0;
  }

  // Clients need not wait for the index.
  Task<void> open_index() {
    co_await yield_to_loop();
    // Without an index everything but search works.
    if (const auto opened = co_await recall_.load(); !opened)
      log::error("index: {}; search does not work", opened.error().what);
  }

  transport::Handler handler() {
    return [this](const protocol::Peer& peer, protocol::ClientMessage message) {
      memory_keeper_.note();
      return server::dispatch(node_, peer, std::move(message));
    };
  }

  void stop() {
    if (stopping_) runtime_.hurry();  // a second request: no more patience
    stopping_ = true;
    config_changes_.stop();
    last_resort_.arm(kStopMax);
    stopped_.notify_all();
  }

  Task<void> take_signals() {
    for (;;) {
      boost::system::error_code failed;
      const int signal =
          co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, failed));
      if (failed) co_return;
      if (signal == SIGCHLD) {
        reap_adopted();
      } else if (signal == SIGHUP) {
        const auto done = co_await config_changes_.alone(reload());
        if (!done) log::error("reload: {}", done.error().what);
      } else {
        log::info("signal {}", signal);
        stop();
      }
    }
  }

  http::Client& http() {
    if (!http_) http_ = std::make_unique<http::Client>(io_.get_executor());
    return *http_;
  }

  model::HttpNeeds needs() { return {http(), pool_, clock_, random_}; }

  // Reads a secret of an MCP server: env:NAME or cmd:COMMAND, else the text itself.
  Task<Result<std::string>> fetch_secret(std::string source) {
    if (!source.starts_with("env:") && !source.starts_with("cmd:")) co_return source;
    auto work = [source](std::stop_token stop) {
      return model::read_key(model::key_source_from(source), kSecretPatience, std::move(stop));
    };
    co_return co_await pool_.run_leavable(work);
  }

  server::Models models() {
    server::Models out;
    out.providers = [this] {
      auto setup = runtime_.shared_setup();
      return std::shared_ptr<const model::Providers>(setup, &setup->providers);
    };
    out.default_model = [this] { return runtime_.setup().default_model; };
    out.lists = &model_lists_;
    out.make = [this](const model::ProviderSpec& spec) {
      return model::make_provider(spec, needs());
    };
    out.set_default = [this](std::string model) {
      return shielded(config_changes_.change(
          [model = std::move(model)](std::string_view text, std::string_view file) {
            return with_default_model(text, file, model);
          }));
    };
    out.save = [this](model::ProviderSpec spec, bool make_default) {
      return shielded(config_changes_.change(
          [spec = std::move(spec), make_default](std::string_view text, std::string_view file) {
            auto edited = with_provider(text, file, spec);
            if (!edited || !make_default) return edited;
            const auto model =
                spec.default_model.empty() ? spec.name : spec.name + "/" + spec.default_model;
            return with_default_model(*edited, file, model);
          }));
    };
    out.remove = [this](std::string name) {
      return shielded(config_changes_.change(
          [name = std::move(name)](std::string_view text, std::string_view file) {
            return without_provider(text, file, name);
          }));
    };
    return out;
  }

  server::Agents agents() {
    server::Agents out;
    out.create = [this](std::string name, std::string config, std::string prompt) {
      return shielded(config_changes_.alone(
          agent_changes_.create(std::move(name), std::move(config), std::move(prompt))));
    };
    out.update = [this](std::string name, std::string config, std::string prompt) {
      return shielded(config_changes_.alone(
          agent_changes_.update(std::move(name), std::move(config), std::move(prompt))));
    };
    out.rename = [this](std::string from, std::string to) {
      return shielded(config_changes_.alone(agent_changes_.rename(std::move(from), std::move(to))));
    };
    out.remove = [this](std::string name) {
      return shielded(config_changes_.alone(agent_changes_.remove(std::move(name))));
    };
    return out;
  }

  server::Mcps mcps() {
    server::Mcps out;
    out.connections = &mcps_;
    out.accounts = &accounts_;
    out.read = [](const std::string& config) { return mcp_spec_from(config); };
    out.save = [this](std::string agent, std::string config) {
      return shielded(config_changes_.alone(save_mcp(std::move(agent), std::move(config))));
    };
    out.remove = [this](std::string agent, std::string name) {
      return shielded(config_changes_.alone(remove_mcp(std::move(agent), std::move(name))));
    };
    return out;
  }

  // An agent's file as JSON; empty when it has none.
  Task<Result<json::object>> read_agent(std::string agent) {
    auto work = [this, agent]() -> Result<json::object> {
      const AgentFiles files{documents_};
      REEF_TRY(const auto text, files.read_config(agent));
      REEF_TRY(const auto table, parse_toml(text.value_or(""), files.config_name(agent)));
      return to_json(table).as_object();
    };
    co_return co_await pool_.run(work);
  }

  Task<Status> save_mcp(std::string agent, std::string config) {
    REEF_CO_TRY(const auto file, co_await read_agent(agent));
    REEF_CO_TRY(const auto server, json::parse(config));
    REEF_CO_TRY(const auto patch, patch_with_mcp(file, server.as_object()));
    co_return co_await agent_changes_.update(agent, json::write(patch), "");
  }

  Task<Status> remove_mcp(std::string agent, std::string name) {
    REEF_CO_TRY(const auto file, co_await read_agent(agent));
    REEF_CO_TRY(const auto patch, patch_without_mcp(file, name));
    co_return co_await agent_changes_.update(agent, json::write(patch), "");
  }

  Task<void> look_at_names() {
    // The setup is taken behind the wait: a reload meanwhile would take the older one away.
    const auto skills = co_await skills_.look();
    auto found = names_that_mean_nothing(runtime_.setup(), runtime_.hooks(), skills);
    for (const auto& warning : found)
      if (std::find(name_warnings_.begin(), name_warnings_.end(), warning) == name_warnings_.end())
        log::warn("{}", warning);
    name_warnings_ = std::move(found);
  }

  // Reads only agents/, so that a bad config.toml cannot get in the way.
  Task<Status> reload_agents() {
    auto work = [this, model = config_.default_model] {
      return load_agents(AgentFiles{documents_}, model);
    };
    auto loaded = co_await pool_.run(work);
    REEF_CO_TRY(auto made,
                with_agents(runtime_.setup(), setup_parts(), config_, std::move(loaded)));
    agent_warnings_ = std::move(made.warnings);
    runtime_.configure(std::move(made.setup));
    co_await look_at_names();
    co_return Ok{};
  }

  SetupParts setup_parts() {
    return {.files = files_,
            .agents = AgentFiles{documents_},
            .home = home_,
            .http = [this] { return needs(); },
            .agent_id = [this](const std::string& name) { return agent_changes_.id_of(name); },
            .no_policy = no_policy_};
  }

  Task<Status> rename_in_config(std::string from, std::string to) {
    return config_changes_.change_held(
        [from = std::move(from), to = std::move(to)](std::string_view text, std::string_view file) {
          return with_renamed_agent(text, file, from, to);
        });
  }

  Task<Status> reload() {
    REEF_CO_CHECK(co_await reload_config());
    if (const auto subscribed = co_await bus_.load(); !subscribed)
      co_return Error(Errc::invalid,
                      fmt::format("reloaded, but {}; {} subscription(s) stay as they were",
                                  subscribed.error().what, bus_.list().size()));
    const auto defined = co_await definitions_.look();
    if (!defined->problems.empty())
      co_return Error(Errc::invalid, fmt::format("reloaded, but {}; the last good one is used",
                                                 fmt::join(defined->problems, "; ")));
    co_return Ok{};
  }

  // Changes all or nothing: a bad file leaves the running configuration unchanged.
  Task<Status> reload_config() {
    const Error too_late(Errc::unavailable, "the daemon is shutting down");
    if (stopping_) co_return too_late;
    auto work = [this] { return load_config(files_, home_.config()); };
    REEF_CO_TRY(auto loaded, co_await pool_.run(work));
    if (stopping_) co_return too_late;
    for (const auto& warning : loaded.warnings) log::warn("{}", warning);
    const auto& config = loaded.config;
    REEF_CO_TRY(auto made, make_setup(setup_parts(), config));

    REEF_CO_CHECK(listeners_.change(config_, config));
    REEF_CO_CHECK(co_await sessions_.rescan());
    configure_hooks(config);
    agent_warnings_ = std::move(made.warnings);
    runtime_.configure(std::move(made.setup));
    co_await look_at_names();
    model_lists_.forget();
    log::set_level(config.log_level);
    config_ = config;
    config_warnings_ = std::move(loaded.warnings);
    log::info("reloaded: {} agent(s)", runtime_.setup().agents.size());
    co_return Ok{};
  }

  void fill(protocol::Stats& stats) {
    const auto up = steady_now(io_.get_executor()) - started_;
    stats.set_uptime_secs(
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(up).count()));
    stats.set_pid(static_cast<std::uint32_t>(::getpid()));
    stats.set_connections(static_cast<std::uint32_t>(listeners_.connections()));
    stats.set_resident_bytes(resident_bytes());
    stats.set_home(utf8::sanitize(home_.root));
    for (const auto* warnings : {&config_warnings_, &agent_warnings_, &name_warnings_})
      for (const auto& warning : *warnings) stats.add_problems(utf8::sanitize(warning));
    // A component may come at any time, so this is computed for each request.
    for (const auto& [name, agent] : runtime_.setup().agents)
      for (const auto& server : agent.servers.all())
        if (server.component && !components_.place_of(server.name))
          stats.add_problems(
              utf8::sanitize(fmt::format("agent {}: mcps: '{}' is no server of config.toml, and no "
                                         "component of that name runs",
                                         name, utf8::excerpt(server.name))));
  }

  asio::io_context& io_;
  LastResort& last_resort_;
  const Home home_;
  session::Hold& hold_;
  std::unique_ptr<session::Hold::Watch> hold_watch_;
  const Moment started_ = steady_now(io_.get_executor());
  SystemClock clock_;
  SystemRandom random_;
  PosixFiles files_;
  store::FsDocuments documents_;  // before the pool, which ends what it has to do with them
  Pool pool_;
  store::FsTranscripts transcripts_;
  store::FsJournal catalog_;
  store::FsJournal answers_;
  session::DocumentFolders folders_;
  session::Sessions sessions_;
  session::Attachments attachments_;
  memory::Memories memories_;
  organise::Definitions definitions_;
  organise::Changes changes_;
  std::unique_ptr<http::Client> http_;  // made when somebody needs it
  oauth::Accounts accounts_;
  mcp::Connections mcps_;
  Components components_;
  skills::Library skills_;
  runtime::Tasks running_;  // declared before its users: entries must not outlive it
  runtime::Compactions compactions_;
  runtime::Runtime runtime_;
  runtime::Live live_;
  bus::Bus bus_;
  exchange::Importer importer_;
  recall::Recall recall_;
  model::ModelLists model_lists_;
  server::Ledger ledger_;
  server::Entrance entrance_;
  server::Node node_;
  ConfigChanges config_changes_;
  AgentChanges agent_changes_;
  std::shared_ptr<hooks::InstructionsHook> instructions_;
  std::shared_ptr<hooks::DelegateHook> delegate_;
  Config config_;
  // Warnings about the configuration in force; `reef status` shows them.
  std::vector<std::string> config_warnings_;
  std::vector<std::string> agent_warnings_;
  std::vector<std::string> name_warnings_;
  Listeners listeners_;
  MemoryKeeper memory_keeper_;
  asio::signal_set signals_;
  bool stopping_ = false;
  Notify stopped_;
  TaskGroup tasks_;
  std::unique_ptr<policy::Policy> policy_;
  bool no_policy_ = false;
};

Task<void> live(Daemon& daemon, const LoadedConfig& config, const Options& options,
                Status& outcome) {
  if (options.no_policy) daemon.do_nothing_by_itself();
  const auto started = co_await daemon.start(config);
  if (!started) {
    co_await daemon.abandon();
    outcome = started;
    co_return;
  }
  log::info("ready: reefd {} pid {}", REEF_VERSION, ::getpid());
  notify_systemd("READY=1");
  if (options.ready_fd >= 0) {
    static_cast<void>(::write(options.ready_fd, "ready\n", 6) == 6);
    ::close(options.ready_fd);
    // Whoever started us stops reading here; from now on only the log file is written.
    if (const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nothing >= 0) {
      ::dup2(nothing, STDERR_FILENO);
      ::close(nothing);
    }
  }
  if (!options.no_policy) daemon.start_policy();
  co_await daemon.run();
  outcome = Ok{};
}

Status run_in(const Home& home, const Options& options, mode_t users_umask) {
  PosixFiles files;
  REEF_CHECK(trust_home(home));
  REEF_CHECK(prepare_home(files, home));
  REEF_TRY(const auto hold, own_home(home));
  REEF_TRY(const auto loaded, load_config(files, home.config()));
  const auto& config = loaded.config;
  REEF_CHECK(log::open({.file = home.log_file(),
                        .file_bytes_max = config.log_file_bytes_max,
                        .files_max = config.log_files_max,
                        .level = config.log_level}));
  for (const auto& warning : loaded.warnings) log::warn("{}", warning);

  Status outcome = Error(Errc::internal, "ended unexpectedly; the log tells more");
  {
    LastResort last_resort;  // watches until all below is gone
    asio::io_context io(1);
    Daemon daemon(io, home, *hold, users_umask, last_resort);
    TaskGroup main(io.get_executor(), "main");
    main.spawn(live(daemon, loaded, options, outcome));
    io.run();
  }
  log::close();
  return outcome;
}

}  // namespace

int run_daemon(const Options& options) {
  protocol::silence_library_log();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);              // a limit on file sizes only fails the write
  const auto users_umask = ::umask(0077);  // for files agents write for the user
  // Keeps other processes of the same user, such as agents' commands, from reading our environment
  // and memory, which hold keys.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // A command that kills its keeper stays our descendant, and descendants may not act as the user.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // The pool's threads share a few heaps, because more would only keep unused memory. With fewer,
  // threads that read sessions at the start or search together would wait for each other.
  ::mallopt(M_ARENA_MAX, 8);
  // Large buffers are returned at once, so the heap does not keep room for the largest there ever
  // was.
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // A search needs some hundred KiB for its answer; returning them to the system each time would
  // cost more than making the answer.
  ::mallopt(M_TRIM_THRESHOLD, 4 << 20);
  raise_descriptor_limit();
  Status outcome = Ok{};
  if (auto home = find_home(options.home)) {
    outcome = run_in(*home, options, users_umask);
  } else {
    outcome = std::move(home).error();
  }
  if (outcome) return 0;
  std::fprintf(stderr, "reefd: %s\n", outcome.error().what.c_str());
  return traits(outcome.error().code).exit_code;
}

}  // namespace reef::daemon
