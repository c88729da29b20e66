#include "daemon/daemon.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
#include "bus/done_hook.h"
#include "daemon/agent_changes.h"
#include "daemon/components.h"
#include "daemon/config.h"
#include "daemon/config_edit.h"
#include "daemon/crabtalk_door.h"
#include "daemon/home.h"
#include "daemon/import_definitions.h"
#include "daemon/last_resort.h"
#include "daemon/mcp_config.h"
#include "daemon/memory_keeper.h"
#include "daemon/systemd.h"
#include "daemon/toml_json.h"
#include "exchange/import.h"
#include "hooks/hooks.h"
#include "mcp/mcp.h"
#include "model/local/local.h"
#include "model/scripted/scripted.h"
#include "oauth/oauth.h"
#include "organise/organise.h"
#include "policy/policy.h"
#include "runtime/scope.h"
#include "server/server.h"
#include "store/store.h"
#include "transport/transport.h"

namespace reef::daemon {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kPoolThreadsMax = 16;
constexpr std::size_t kTokenHexDigits = 64;
constexpr std::chrono::milliseconds kSecretPatience{10'000};
// Together under the five seconds a stop may take.
constexpr std::chrono::milliseconds kDrainGrace{2'500};
constexpr std::chrono::milliseconds kSettleGrace{500};
// Then nothing is waited for any more. Sanitizers make everything slow, and report at the end.
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

// A quarter of the descriptors, 256 at most, is kept for files, servers and backends. Of the rest
// the owner's socket has one half; every other listener has a quarter.
transport::Limits share_of(transport::Limits limits, bool owners) {
  constexpr rlim_t kKeptMax = 256;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return limits;
  const auto free = limit.rlim_cur - std::min(kKeptMax, limit.rlim_cur / 4);
  limits.connections_max =
      std::min<std::size_t>(limits.connections_max, std::max<rlim_t>(1, free / (owners ? 2 : 4)));
  return limits;
}

// The members stand in the order they depend on each other, so they are taken down in the reverse.
class Daemon {
 public:
  Daemon(asio::io_context& io, Home home, mode_t users_umask, LastResort& last_resort)
      : io_(io),
        last_resort_(last_resort),
        home_(std::move(home)),
        pool_(kPoolThreadsMax),
        store_(files_, pool_, home_.root),
        folders_(files_, pool_, home_.root),
        sessions_(io.get_executor(), store_, clock_, random_),
        attachments_(io.get_executor(), sessions_, store_, folders_),
        memories_(io.get_executor(), files_, pool_, clock_, home_.memory()),
        definitions_(io.get_executor(), files_, pool_, home_.root),
        changes_(io.get_executor(), sessions_, definitions_, pool_),
        accounts_(
            oauth::House{io.get_executor(), clock_, [this]() -> http::Client& { return http(); },
                         [this](std::string source) { return fetch_secret(std::move(source)); },
                         files_, pool_, home_.logins()}),
        mcps_(mcp::Pool::House{
            io.get_executor(), clock_, [this]() -> http::Client& { return http(); },
            [this](std::string source) { return fetch_secret(std::move(source)); },
            [this](const std::string& name) { return components_.place_of(name); },
            [this] { return random_.next(); }, &accounts_}),
        components_(io.get_executor(), home_.run(),
                    [this](const std::string& name) { mcps_.component_changed(name); }),
        skills_(files_, pool_, home_.skills()),
        running_(io.get_executor(), clock_),
        runtime_(io.get_executor(), sessions_, clock_),
        bus_(io.get_executor(), files_, pool_, runtime_, home_.subscriptions()),
        compactions_(io.get_executor(), sessions_, memories_),
        importer_(exchange::ImportHouse{
            io.get_executor(), files_, pool_, sessions_, store_, random_, home_.root,
            [this](exchange::Definition d) { return keep_definition(definitions_, std::move(d)); },
            [this](exchange::Definition d) { return remember(std::move(d)); },
            [this](exchange::Definition d) { return subscribe(std::move(d)); },
            [this] { return recall_.hold(); },
            [this](const std::string& agent, const std::string& sender, const std::string& key) {
              return own_mode(agent, sender, key);
            }}),
        recall_(io.get_executor(), sessions_, store_, pool_, files_, home_.index()),
        model_lists_(io.get_executor()),
        node_{runtime_,
              compactions_,
              sessions_,
              store_,
              attachments_,
              memories_,
              pool_,
              home_.root,
              importer_,
              definitions_,
              changes_,
              recall_,
              [this] { return shielded(alone(reload())); },
              [this] { stop(); },
              [this](protocol::Stats& stats) { fill(stats); },
              models(),
              agents(),
              &skills_,
              &bus_,
              &running_,
              mcps()},
        agent_changes_(AgentHouse{AgentFiles{files_, home_.agents()}, pool_, runtime_, sessions_,
                                  memories_, [this] { return reload_agents(); }, bus_,
                                  [this](std::string from, std::string to) {
                                    return change_config_now(
                                        [from = std::move(from), to = std::move(to)](
                                            std::string_view text, std::string_view file) {
                                          return with_renamed_agent(text, file, from, to);
                                        });
                                  },
                                  clock_}),
        instructions_(std::make_shared<hooks::InstructionsHook>(files_, pool_, home_.root)),
        delegate_(std::make_shared<hooks::DelegateHook>(hooks::DelegateHook::House{
            io.get_executor(), pool_, runtime_, sessions_, bus_, random_})),
        memory_keeper_(
            io.get_executor(), pool_, [this] { sessions_.trim_cache(); },
            [this] { return !running_.list().empty(); }),
        door_(files_, user_home()),
        signals_(io),
        config_changed_(io.get_executor()),
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
    runtime_.hooks().add(std::make_shared<hooks::OsHook>(hooks::OsHook::House{
        io.get_executor(), pool_, clock_, sessions_, home_.root, user_home(), users_umask,
        [this](const runtime::Caller& caller) { return context_window(caller); }}));
    runtime_.hooks().add(std::make_shared<hooks::McpHook>(
        mcps_, [this](const std::string& agent) { runtime_.forget_offer(agent); }));
    runtime_.use_compactions(compactions_);
    compactions_.use_tasks(running_);
    runtime_.on_words([this](const session::SessionId& id, const std::string& words) {
      changes_.take_words(id, words);
    });
  }

  // Everything that can go wrong before clients may come.
  Task<Status> start(const LoadedConfig& read) {
    const auto& config = read.config;
    config_warnings_ = read.warnings;
    ::unlink(home_.tcp_address().c_str());  // of a daemon that was killed
    if (const auto cleared = exchange::clear_staging(files_, home_.root); !cleared)
      log::warn("{}", cleared.error().what);
    folders_.clean();
    sessions_.use_folders(folders_);
    attachments_.set_bytes_max(config.attachment_bytes_max);
    configure_hooks(config);
    recall_.begin_load();
    REEF_CO_CHECK(co_await sessions_.load());
    co_await agent_changes_.load_names();
    sessions_.set_name_now([this](const std::string& agent, TimePoint then) {
      return agent_changes_.name_now(agent, then);
    });
    // What is subscribed is not worth a daemon that does not start.
    if (const auto loaded = co_await bus_.load(); !loaded)
      log::error("events: {}; nobody is subscribed until it is put right", loaded.error().what);
    recall_.set_on_work(
        [this](std::string what) -> std::shared_ptr<void> { return index_task(std::move(what)); });
    static_cast<void>(co_await definitions_.look());
    sessions_.set_on_change(
        [this](const session::SessionId& id, bool rewritten) { recall_.changed(id, rewritten); });
    // Who was logged in has to log in again then; the rest works.
    if (const auto loaded = co_await accounts_.load(); !loaded)
      log::error("logins: {}", loaded.error().what);
    accounts_.on_change([this](const oauth::Account& account) { mcps_.account_changed(account); });
    mcps_.set_idle(config.mcp_idle);
    components_.start();
    REEF_CO_TRY(auto setup, make_setup(config));
    runtime_.configure(std::move(setup));
    co_await look_at_names();
    config_ = config;
    REEF_CO_TRY(auto unix_listener,
                transport::Listener::listen_unix(io_.get_executor(), home_.socket(), handler(),
                                                 share_of(config.limits, true)));
    unix_listener->set_budget(frames_);
    // Owned before anything else can fail: abandon() stops what is here.
    listeners_.push_back(std::move(unix_listener));
    REEF_CO_TRY(auto tcp_listener, listen_tcp(config));
    if (tcp_listener) REEF_CO_CHECK(adopt_tcp(std::move(tcp_listener)));
    mind_the_door(config);

    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.add(SIGHUP);
    signals_.add(SIGCHLD);
    last_resort_.hear_signals(kStopMax);
    tasks_.spawn(take_signals());
    tasks_.spawn(open_index());
    memory_keeper_.note();
    co_return Ok{};
  }

  // From now on: clients can come, and this is one of them.
  void do_nothing_by_itself() { no_policy_ = true; }
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
    for (const auto& listener : listeners_) listener->stop_accepting();
    ::unlink(home_.socket().c_str());
    ::unlink(home_.tcp_address().c_str());
    door_.leave();
    importer_.cancel();
    co_await memory_keeper_.stop();
    co_await runtime_.drain(kDrainGrace);
    co_await delegate_->stop();
    co_await bus_.stop();
    co_await compactions_.stop();
    co_await model_lists_.stop();
    co_await components_.stop();
    co_await mcps_.stop();
    const auto deadline = std::chrono::steady_clock::now() + kSettleGrace;
    for (const auto& listener : listeners_) co_await listener->settle(deadline);
    for (const auto& listener : listeners_) co_await listener->stop();
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

  // Before start() succeeded: whatever is there is closed.
  Task<void> abandon() {
    co_await memory_keeper_.stop();
    for (const auto& listener : listeners_) co_await listener->stop();
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

  // Among what runs as long as it is held.
  std::shared_ptr<void> index_task(std::string what) {
    runtime::TaskInfo info{"index", std::move(what)};
    std::shared_ptr<runtime::Tasks::Entry> entry = running_.begin(std::move(info));
    return {nullptr, [entry](void*) { entry->end(runtime::TaskInfo::State::done); }};
  }

  // Of the model that speaks in the caller's session; 0: not known.
  // `crab` is the default agent, unless there is one of that name.
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
      // It may have come with the same import.
      REEF_CO_CHECK(co_await reload_agents());
      done = co_await bus_.subscribe(source, agent, once);
    }
    if (!done) co_return std::move(done).error();
    co_return true;
  }
  // Of a session that says nothing itself, for imports: an agent that is yet to come has the modes
  // agents have.
  std::string own_mode(const std::string& agent, const std::string& sender,
                       const std::string& key) {
    const auto found = runtime_.setup().find(agent);
    const auto local = runtime::is_local(sender, key);
    const runtime::Agent fresh;
    const auto& own = found ? *found : fresh;
    return std::string(runtime::name_of(local ? own.permission_mode : own.remote_permission_mode));
  }
  std::int64_t context_window(const runtime::Caller& caller) {
    const auto model = runtime::model_for(sessions_.find(caller.session), caller.agent);
    const auto route = runtime_.setup().providers.route(model);
    return route ? route->facts.context_window : 0;
  }

  // Clients need not wait for it.
  Task<void> open_index() {
    co_await yield_to_loop();
    // Without an index everything else still works.
    if (const auto opened = co_await recall_.load(); !opened)
      log::error("index: {}; search does not work", opened.error().what);
  }

  transport::Handler handler() {
    return [this](const protocol::Peer& peer, protocol::ClientMessage message) {
      memory_keeper_.note();
      return server::dispatch(node_, peer, std::move(message));
    };
  }

  Task<protocol::Peer> identify_tcp(std::uint16_t port, std::uint16_t peer_port) {
    auto work = [port, peer_port] { return transport::tcp_peer(port, peer_port); };
    co_return co_await pool_.run(work);
  }

  void stop() {
    if (stopping_) runtime_.hurry();  // asked twice: no more patience
    stopping_ = true;
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
        const auto done = co_await alone(reload());
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

  model::HttpHouse house() { return {http(), pool_, clock_, random_}; }

  // Of an MCP server: env:NAME and cmd:COMMAND, else the words themselves.
  Task<Result<std::string>> fetch_secret(std::string source) {
    if (!source.starts_with("env:") && !source.starts_with("cmd:")) co_return source;
    auto work = [source](std::stop_token stop) {
      return model::read_key(model::key_source_from(source), kSecretPatience, std::move(stop));
    };
    co_return co_await pool_.run_leavable(work);
  }

  Result<model::Providers::Entry> make_entry(const ProviderConfig& config) {
    const auto& spec = config.spec;
    if (spec.kind != "local" && spec.kind != "scripted") {
      auto entry = model::make_provider(spec, house());
      if (!entry) return std::move(entry).error().with(config.place);
      return entry;
    }
    model::Providers::Entry entry;
    entry.name = spec.name;
    entry.kind = spec.kind;
    entry.models = spec.models;
    entry.default_model = spec.default_model.empty() ? spec.name : spec.default_model;
    entry.key_place = "none";
    if (spec.kind == "local") {
      entry.provider = std::make_shared<model::LocalProvider>();
      return entry;
    }
    const auto path =
        config.script.starts_with('/') ? config.script : home_.root + "/" + config.script;
    const auto text = read_all(files_, path);
    if (!text) return Error(text.error()).with(config.script_place);
    auto script = model::parse_script(*text);
    if (!script) return std::move(script).error().with(path).with(config.script_place);
    entry.facts = [window = script->window](std::string_view model) {
      model::ModelFacts facts;
      facts.id = model;
      facts.context_window = window;
      return facts;
    };
    entry.provider = std::make_shared<model::ScriptedProvider>(*std::move(script));
    return entry;
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
      return model::make_provider(spec, house());
    };
    out.set_default = [this](std::string model) {
      return shielded(
          change_config([model = std::move(model)](std::string_view text, std::string_view file) {
            return with_default_model(text, file, model);
          }));
    };
    out.save = [this](model::ProviderSpec spec, bool make_default) {
      return shielded(change_config(
          [spec = std::move(spec), make_default](std::string_view text, std::string_view file) {
            auto edited = with_provider(text, file, spec);
            if (!edited || !make_default) return edited;
            const auto model =
                spec.default_model.empty() ? spec.name : spec.name + "/" + spec.default_model;
            return with_default_model(*edited, file, model);
          }));
    };
    out.remove = [this](std::string name) {
      return shielded(
          change_config([name = std::move(name)](std::string_view text, std::string_view file) {
            return without_provider(text, file, name);
          }));
    };
    return out;
  }

  // Writes config.toml and reloads; when that fails, what was there is put back.
  using Edit = std::function<Result<std::string>(std::string_view text, std::string_view file)>;
  Task<Status> change_config(Edit edit) { return alone(change_config_now(std::move(edit))); }

  // One change of the configuration at a time: each reads, decides and puts in force.
  Task<Status> alone(Task<Status> work) {
    co_await yield_to_loop();
    while (changing_config_) co_await config_changed_.wait();
    changing_config_ = true;
    struct Release {
      Daemon& daemon;
      ~Release() {
        daemon.changing_config_ = false;
        daemon.config_changed_.notify_all();
      }
    } const release{*this};
    if (stopping_) co_return Error(Errc::unavailable, "the daemon is shutting down");
    co_return co_await std::move(work);
  }

  server::Agents agents() {
    server::Agents out;
    out.create = [this](std::string name, std::string config, std::string prompt) {
      return shielded(
          alone(agent_changes_.create(std::move(name), std::move(config), std::move(prompt))));
    };
    out.update = [this](std::string name, std::string config, std::string prompt) {
      return shielded(
          alone(agent_changes_.update(std::move(name), std::move(config), std::move(prompt))));
    };
    out.rename = [this](std::string from, std::string to) {
      return shielded(alone(agent_changes_.rename(std::move(from), std::move(to))));
    };
    out.remove = [this](std::string name) {
      return shielded(alone(agent_changes_.remove(std::move(name))));
    };
    return out;
  }

  server::Mcps mcps() {
    server::Mcps out;
    out.pool = &mcps_;
    out.accounts = &accounts_;
    out.read = [](const std::string& config) { return mcp_spec_from(config); };
    out.save = [this](std::string agent, std::string config) {
      return shielded(alone(save_mcp(std::move(agent), std::move(config))));
    };
    out.remove = [this](std::string agent, std::string name) {
      return shielded(alone(remove_mcp(std::move(agent), std::move(name))));
    };
    return out;
  }

  // An agent's file as JSON; empty when it has none.
  Task<Result<json::object>> read_agent(std::string agent) {
    auto work = [this, agent]() -> Result<json::object> {
      const AgentFiles files{files_, home_.agents()};
      REEF_TRY(const auto text, files.read_config(agent));
      REEF_TRY(const auto table, parse_toml(text.value_or(""), files.config_path(agent)));
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

  // Names in agents' scopes that mean nothing: such an agent lacks what somebody wanted it to have.
  Task<void> look_at_names() {
    const auto catalogue = co_await skills_.look();
    std::vector<std::string> found;
    for (const auto& [name, agent] : runtime_.setup().agents) {
      for (const auto& tool : tools_that_mean_nothing(agent, runtime_.hooks().known_tools(agent)))
        found.push_back(
            fmt::format("agent {}: tools: '{}' is no tool there is", name, utf8::excerpt(tool)));
      for (const auto& skill : agent.skills)
        if (std::none_of(catalogue.skills.begin(), catalogue.skills.end(),
                         [&](const auto& one) { return runtime::fits(skill, one.skill.name); }))
          found.push_back(fmt::format("agent {}: skills: '{}' is no skill there is", name,
                                      utf8::excerpt(skill)));
    }
    for (const auto& warning : found)
      if (std::find(name_warnings_.begin(), name_warnings_.end(), warning) == name_warnings_.end())
        log::warn("{}", warning);
    name_warnings_ = std::move(found);
  }

  // Only agents/: nothing else is read again, and nothing else can be in the way.
  // Of [system.AGENT]; an agent's own file counts before it. `crab` is the default agent, unless
  // there is one of that name.
  static void set_thresholds(std::map<std::string, runtime::Agent, std::less<>>& agents,
                             const Config& config) {
    for (const auto& [name, limit] : config.compact_thresholds) {
      auto found = agents.find(name);
      if (found == agents.end() && name == "crab") found = agents.find(config.default_agent);
      if (found == agents.end()) continue;
      auto& own = found->second.config;
      if (!own) own.emplace();
      if (!own->contains("compact_threshold")) (*own)["compact_threshold"] = limit;
    }
  }
  Task<Status> reload_agents() {
    auto work = [this, model = config_.default_model] {
      return load_agents(files_, home_.agents(), model);
    };
    auto loaded = co_await pool_.run(work);
    for (auto& [name, agent] : loaded.agents) agent.id = agent_changes_.id_of(name);
    auto setup = std::make_shared<runtime::Setup>(runtime_.setup());
    resolve_mcps(loaded.agents, config_.mcps, loaded.warnings);
    agent_warnings_ = std::move(loaded.warnings);
    set_thresholds(loaded.agents, config_);
    setup->agents = std::move(loaded.agents);
    if (!setup->agents.contains(setup->default_agent))
      co_return Error(Errc::conflict,
                      fmt::format("the default agent '{}' would be gone", setup->default_agent));
    runtime_.configure(std::move(setup));
    co_await look_at_names();
    co_return Ok{};
  }

  Task<Status> change_config_now(Edit edit) {
    const auto path = home_.config();
    auto read = [this, path] { return read_all(files_, path); };
    auto before = co_await pool_.run(read);
    const bool fresh = !before && before.error().code == Errc::not_found;
    if (!before && !fresh) co_return before.error();
    const auto text = fresh ? std::string() : *before;
    REEF_CO_TRY(const auto after, edit(text, path));
    auto write = [this, path, after] { return replace_atomically(files_, path, after); };
    REEF_CO_CHECK(co_await pool_.run(write));
    auto loaded = co_await reload_config();
    if (loaded || stopping_) co_return loaded;
    auto undo = [this, path, text] { return replace_atomically(files_, path, text); };
    if (const auto undone = co_await pool_.run(undo); !undone)
      log::error("config.toml could not be put back: {}", undone.error().what);
    co_return loaded;
  }

  Result<std::shared_ptr<const runtime::Setup>> make_setup(const Config& config) {
    auto setup = std::make_shared<runtime::Setup>();
    setup->default_agent = config.default_agent;
    setup->expiry = config.expiry;
    setup->ask_patience = config.ask_timeout;
    setup->compaction = config.compaction;
    // Nothing happens by itself then, but where an agent or a session says so.
    if (no_policy_) setup->compaction.on_overflow = false;
    setup->pruning = config.pruning;
    setup->idle_minutes_by_key = config.idle_minutes_by_key;
    setup->default_model = config.default_model;
    setup->providers.add("local", std::make_shared<model::LocalProvider>());
    for (const auto& [name, provider] : config.providers) {
      auto entry = make_entry(provider);
      if (!entry) return std::move(entry).error();
      auto added = setup->providers.add(*std::move(entry));
      if (!added) return std::move(added).error().with(provider.place);
    }
    if (const auto route = setup->providers.route(config.default_model); !route)
      return Error(route.error()).with(home_.config() + ": default_model");
    auto agents = load_agents(files_, home_.agents(), config.default_model);
    resolve_mcps(agents.agents, config.mcps, agents.warnings);
    for (const auto& warning : agents.warnings) log::warn("{}", warning);
    for (auto& [name, agent] : agents.agents) agent.id = agent_changes_.id_of(name);
    agent_warnings_ = std::move(agents.warnings);
    set_thresholds(agents.agents, config);
    setup->agents = std::move(agents.agents);
    setup->worker = hooks::worker(config.default_model);
    for (const auto& [name, agent] : setup->agents)
      if (const auto route = setup->providers.route(agent.model); !route)
        log::warn("agent {}: {}", name, route.error().what);
    if (!setup->agents.contains(setup->default_agent))
      return Error(Errc::invalid, fmt::format("{}: default_agent: there is no agent '{}'",
                                              home_.config(), setup->default_agent));
    return std::shared_ptr<const runtime::Setup>(std::move(setup));
  }

  // nullptr when TCP is off, or when the listener that is there already serves.
  Result<std::unique_ptr<transport::Listener>> listen_tcp(const Config& config) {
    if (!config.tcp_enabled) return std::unique_ptr<transport::Listener>();
    std::string token;
    if (!config.tcp_trust_loopback) {
      REEF_TRY(token, load_token());
    }
    REEF_TRY(auto listener,
             transport::Listener::listen_tcp(io_.get_executor(), config.tcp_port, handler(),
                                             share_of(config.limits, false), std::move(token)));
    listener->set_budget(frames_);
    listener->set_identify([this](std::uint16_t port, std::uint16_t peer_port) {
      return identify_tcp(port, peer_port);
    });
    return listener;
  }

  Status adopt_tcp(std::unique_ptr<transport::Listener> listener) {
    const auto address = fmt::format("127.0.0.1:{}\n", listener->port());
    listeners_.push_back(std::move(listener));
    tcp_ = listeners_.back().get();
    log::info("tcp: listening on 127.0.0.1:{}", tcp_->port());
    return replace_atomically(files_, home_.tcp_address(), address);
  }

  // CrabTalk's clients are let in, or not any more. A daemon that cannot do it works all the same.
  void mind_the_door(const Config& config) {
    if (!config.crabtalk_listen) {
      if (auto* open = std::exchange(crabtalk_, nullptr)) open->stop_accepting();
      door_.leave();
      return;
    }
    if (!crabtalk_) {
      auto done = door_.check();
      if (done) {
        auto listener = transport::Listener::listen_unix(io_.get_executor(), door_.socket(),
                                                         handler(), share_of(config.limits, false));
        if (listener) {
          (*listener)->set_budget(frames_);
          door_.took_place();
          crabtalk_ = listeners_.emplace_back(*std::move(listener)).get();
          log::info("crabtalk: listening at {}", door_.socket());
        } else {
          done = listener.error();
        }
      }
      if (!done) {
        log::warn("crabtalk: {}", done.error().what);
        return;
      }
    }
    // Its clients bring no token.
    const bool may_come = tcp_ && config.tcp_enabled && config.tcp_trust_loopback;
    if (config.tcp_enabled && !config.tcp_trust_loopback)
      log::warn(
          "crabtalk: no port file: its clients bring no token, and tcp.trust_loopback is off");
    if (const auto told = door_.tell_port(may_come ? tcp_->port() : 0); !told)
      log::warn("crabtalk: {}", told.error().what);
  }

  Result<std::string> load_token() {
    auto text = read_all(files_, home_.token());
    if (text) {
      // Others may have looked at it while they could; from now on they cannot.
      struct ::stat info = {};
      if (::stat(home_.token().c_str(), &info) == 0 && (info.st_mode & 0077U) != 0) {
        log::warn("{} could be read by others; its mode is now 0600", home_.token());
        if (::chmod(home_.token().c_str(), 0600) != 0) return sys_error(errno, "protect run/token");
      }
      while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
      if (!text->empty()) return text;
    } else if (text.error().code != Errc::not_found) {
      return text;
    }
    auto token = random_.hex(kTokenHexDigits);
    REEF_CHECK(replace_atomically(files_, home_.token(), token + "\n"));
    return token;
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

  // All or nothing: a bad file leaves what is running as it is.
  Task<Status> reload_config() {
    const Error too_late(Errc::unavailable, "the daemon is shutting down");
    if (stopping_) co_return too_late;
    auto work = [this] { return load_config(files_, home_.config()); };
    REEF_CO_TRY(auto loaded, co_await pool_.run(work));
    if (stopping_) co_return too_late;
    for (const auto& warning : loaded.warnings) log::warn("{}", warning);
    const auto& config = loaded.config;
    REEF_CO_TRY(auto setup, make_setup(config));

    const bool tcp_same = config.tcp_enabled == config_.tcp_enabled &&
                          config.tcp_port == config_.tcp_port &&
                          config.tcp_trust_loopback == config_.tcp_trust_loopback;
    if (!tcp_same) {
      // The old address may be the new one, so it is let go first; its connections stay.
      auto* old = std::exchange(tcp_, nullptr);
      if (old) old->stop_accepting();
      auto fresh = listen_tcp(config);
      if (!fresh) {
        auto again = listen_tcp(config_);
        if (again && *again) static_cast<void>(adopt_tcp(*std::move(again)).ok());
        co_return std::move(fresh).error();
      }
      if (*fresh) {
        REEF_CO_CHECK(adopt_tcp(*std::move(fresh)));
      } else {
        ::unlink(home_.tcp_address().c_str());
      }
    }
    mind_the_door(config);
    for (const auto& listener : listeners_)
      listener->set_limits(share_of(config.limits, listener == listeners_.front()));
    REEF_CO_CHECK(co_await sessions_.rescan());
    attachments_.set_bytes_max(config.attachment_bytes_max);
    configure_hooks(config);
    mcps_.set_idle(config.mcp_idle);
    runtime_.configure(std::move(setup));
    co_await look_at_names();
    model_lists_.forget();
    log::set_level(config.log_level);
    config_ = config;
    config_warnings_ = std::move(loaded.warnings);
    log::info("reloaded: {} agent(s)", runtime_.setup().agents.size());
    co_return Ok{};
  }

  void fill(protocol::Stats& stats) {
    const auto up = std::chrono::steady_clock::now() - started_;
    stats.set_uptime_secs(
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(up).count()));
    stats.set_pid(static_cast<std::uint32_t>(::getpid()));
    std::size_t connections = 0;
    for (const auto& listener : listeners_) connections += listener->connections();
    stats.set_connections(static_cast<std::uint32_t>(connections));
    stats.set_resident_bytes(resident_bytes());
    stats.set_home(utf8::sanitize(home_.root));
    for (const auto* warnings : {&config_warnings_, &agent_warnings_, &name_warnings_})
      for (const auto& warning : *warnings) stats.add_problems(utf8::sanitize(warning));
  }

  asio::io_context& io_;
  LastResort& last_resort_;
  const Home home_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  SystemClock clock_;
  SystemRandom random_;
  PosixFiles files_;
  Pool pool_;
  store::FsStore store_;
  store::FsFolders folders_;
  session::Sessions sessions_;
  session::Attachments attachments_;
  memory::Memories memories_;
  organise::Definitions definitions_;
  organise::Changes changes_;
  std::unique_ptr<http::Client> http_;  // once somebody needs it
  oauth::Accounts accounts_;
  mcp::Pool mcps_;
  Components components_;
  skills::Library skills_;
  runtime::Tasks running_;  // before who works: entries must not outlive it
  runtime::Runtime runtime_;
  bus::Bus bus_;
  runtime::Compactions compactions_;
  exchange::Importer importer_;
  recall::Recall recall_;
  model::ModelLists model_lists_;
  server::Node node_;
  AgentChanges agent_changes_;
  std::shared_ptr<hooks::InstructionsHook> instructions_;
  std::shared_ptr<hooks::DelegateHook> delegate_;
  Config config_;
  // What the configuration in force says that nobody understands; `reef status` shows it.
  std::vector<std::string> config_warnings_;
  std::vector<std::string> agent_warnings_;
  std::vector<std::string> name_warnings_;
  const std::shared_ptr<transport::FrameBudget> frames_ =
      std::make_shared<transport::FrameBudget>(io_.get_executor());
  // Those that take no more connections stay until the end: their clients do.
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  transport::Listener* tcp_ = nullptr;
  transport::Listener* crabtalk_ = nullptr;
  MemoryKeeper memory_keeper_;
  CrabtalkDoor door_;
  asio::signal_set signals_;
  bool stopping_ = false;
  bool changing_config_ = false;
  Notify config_changed_;
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
    // Whoever started us reads no further; from here on the log file speaks.
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
  REEF_TRY(const Fd lock, lock_home(home));
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
    Daemon daemon(io, home, users_umask, last_resort);
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
  ::signal(SIGXFSZ, SIG_IGN);              // a limit on file sizes is a failed write, not the end
  const auto users_umask = ::umask(0077);  // what agents write for the user is as the user's
  // Nobody of the same user, agents' commands above all, reads our environment and memory: keys
  // are there.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // A command that kills its keeper stays among our descendants, who may not act as the user.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // The pool's threads share a few heaps: more would only keep memory that is not used. With fewer
  // those that read sessions at the start wait for each other, and a search for its helper.
  ::mallopt(M_ARENA_MAX, 8);
  // Large buffers go back at once, and the heap keeps no room for the largest there ever was.
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // An answer of a search takes some hundred KiB: giving them back to the system each time costs
  // more than making the answer.
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
