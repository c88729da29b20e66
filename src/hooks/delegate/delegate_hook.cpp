#include "hooks/delegate/delegate_hook.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "hooks/description.h"
#include "runtime/bounds.h"
#include "runtime/permission.h"
#include "runtime/scope.h"

namespace reef::hooks {
namespace {

using runtime::Agent;
using runtime::Caller;
using runtime::PermissionMode;
using runtime::ToolAnswer;

constexpr std::string_view kWorkerPrompt =
    "You are a worker: another agent gave you the task in the first message. Do it with the tools "
    "you have, on your own. Your last message is the result and the only thing it sees: put into "
    "it what was asked for, what you found, and what you could not do.";

// An agent that no configuration has: the caller, with another name and prompt. So it has the
// caller's model and can reach nothing the caller cannot.
Agent worker_like(const Agent& caller) {
  Agent out = caller;
  out.name = std::string(kWorker);
  out.description = "Does what it is told.";
  out.prompt = std::string(kWorkerPrompt);
  out.config = std::nullopt;
  out.servers = {};  // MCP servers are declared by agents of the configuration
  return out;
}

}  // namespace

Agent worker(const std::string& model) {
  Agent out;
  out.name = std::string(kWorker);
  out.description = "Does what it is told.";
  out.prompt = std::string(kWorkerPrompt);
  out.model = model;
  return out;
}

namespace {

std::string base_folder(const session::Sessions& sessions, const Caller& caller) {
  if (!caller.cwd.empty()) return caller.cwd;
  const auto* row = sessions.find(caller.session);
  if (!row) return {};
  return std::string(row->text("workingDirectory"));
}

// Cancels the children that still run when the caller goes away for any reason.
struct Leash {
  std::shared_ptr<Link> link;
  std::vector<std::shared_ptr<Child>> children = {};
  ~Leash() {
    link->open = false;
    for (const auto& child : children)
      if (child->run && !child->run->events().closed()) child->run->cancel();
  }
};

// Attaches a reader to the run, so that it does not count as unread.
struct Reader {
  explicit Reader(std::shared_ptr<runtime::Run> shown) : run(std::move(shown)) {
    run->events().attach();
  }
  ~Reader() { run->events().detach(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  std::shared_ptr<runtime::Run> run;
};

Task<void> show(std::shared_ptr<Child> child, std::function<void(std::string)> tell) {
  const Reader reader(child->run);
  co_await follow(child, std::move(tell));
}

ToolAnswer answer_of(const std::vector<std::shared_ptr<Child>>& children) {
  json::array all, sessions;
  bool good = false;
  for (const auto& child : children) {
    all.push_back(outcome_of(*child));
    good = good || child->error.empty();
    if (!child->session.empty()) sessions.emplace_back(child->session);
  }
  return {json::write(all), !good, {}, json::object{{"sessions", std::move(sessions)}}};
}

}  // namespace

DelegateHook::DelegateHook(Needs needs)
    : needs_(std::move(needs)), background_(needs_.loop, "delegated") {}

Task<void> DelegateHook::stop() {
  background_.cancel();
  co_await background_.join();
}

std::vector<model::Tool> DelegateHook::tools(const Agent&) const {
  return {delegate_tool()};
}

std::string DelegateHook::prompt(const Agent& agent) const {
  std::string list;
  for (const auto& [name, other] : needs_.runtime.setup().agents)
    if (name != agent.name && !other.description.empty())
      list += fmt::format("- {}: {}\n", name, utf8::excerpt(other.description, 400));
  if (list.empty()) return {};
  return "<agents>\nWho tasks can be delegated to, beside workers:\n" + list + "</agents>";
}

runtime::Intent DelegateHook::intent(const std::string& tool, const json::object&,
                                     const Caller&) const {
  // The call itself changes nothing. The children ask about their own changes, and their mode is
  // never wider than the caller's.
  return runtime::Intent{runtime::Intent::Effect::reads, tool, tool, {}};
}

Status DelegateHook::check_limits(const std::vector<Order>& orders, bool background,
                                  const Caller& caller) const {
  if (caller.lineage.delegations >= limits_.depth_max)
    return Error(Errc::denied, fmt::format("delegated work is {} deep already, which is the limit; "
                                           "do the task yourself",
                                           caller.lineage.delegations));
  if (orders.size() > limits_.width_max)
    return Error(Errc::too_large, fmt::format("{} tasks are more than the {} one call may have",
                                              orders.size(), limits_.width_max));
  if (background && in_background_ + orders.size() > limits_.background_max)
    return Error(Errc::busy, fmt::format("{} delegated tasks run in the background; try later",
                                         in_background_));
  return Ok{};
}

Result<Agent> DelegateHook::agent_for(const Order& order, const Caller& caller) const {
  const auto& setup = needs_.runtime.setup();
  const auto name = order.agent.empty() ? std::string(kWorker) : order.agent;
  auto agent = worker_like(caller.agent);
  if (name != kWorker || setup.agents.contains(name)) {
    REEF_TRY(auto configured, setup.find(name));
    agent = runtime::narrowed(std::move(configured), caller.agent);
  }
  // This also binds a session that later takes the place of the one made for the task.
  agent.permission_mode = std::min(agent.permission_mode, caller.mode);
  agent.remote_permission_mode = std::min(agent.remote_permission_mode, caller.mode);
  if (!order.system_prompt.empty()) agent.prompt = order.system_prompt;
  return agent;
}

Task<Result<runtime::Message>> DelegateHook::prepare(Order order, Caller caller, Child& child) {
  REEF_CO_TRY(const auto agent, agent_for(order, caller));
  child.agent = agent.name;
  auto resolve = [base = base_folder(needs_.sessions, caller), wanted = order.cwd,
                  anywhere = caller.local] { return where_to_work(base, wanted, anywhere); };
  REEF_CO_TRY(const auto cwd, co_await needs_.pool.run(resolve));
  // The sender is random and not counted up, so that a new task never lands in an old conversation.
  // Tasks of a sender behind a gateway stay remote.
  const auto sender = (caller.local ? "delegate-" : "delegate:") + child.id;
  REEF_CO_TRY(const auto key, session::Key::of_pair(agent.name, sender));
  const auto own = caller.local ? agent.permission_mode : agent.remote_permission_mode;
  json::object facts{{"parentSession", caller.session.text()},
                     {"parentCall", caller.call_id},
                     {"permissionMode", runtime::name_of(own)},
                     {runtime::kBoundsField, runtime::bounds_of(agent)}};
  session::Sessions::New fresh{key, agent.name, sender, cwd, {}, cwd};
  fresh.drafts.push_back(session::draft_meta(std::move(facts)));
  REEF_CO_TRY(const auto session, co_await needs_.sessions.create(std::move(fresh)));
  child.session = session->id().text();

  runtime::Message message{agent.name, sender, std::move(order.message), cwd};
  message.key = key.text();
  message.lineage.events = caller.lineage.events;
  message.lineage.delegations = caller.lineage.delegations + 1;
  message.lineage.parent = caller.key;
  message.as = agent;
  co_return message;
}

Task<std::shared_ptr<Child>> DelegateHook::start(Order order, Caller caller,
                                                 std::shared_ptr<Link> link) {
  auto child = std::make_shared<Child>();
  child->id = "d" + needs_.random.hex(8);
  child->agent = order.agent.empty() ? std::string(kWorker) : utf8::excerpt(order.agent);
  auto message = co_await prepare(std::move(order), std::move(caller), *child);
  if (!message) {
    child->error = message.error().what;
    co_return child;
  }
  message->ask = [link, agent = child->agent](runtime::Ask ask) {
    return pass_on(link, agent, std::move(ask));
  };
  auto run = needs_.runtime.submit(*std::move(message));
  if (run) {
    child->run = *std::move(run);
  } else {
    child->error = run.error().what;
  }
  co_return child;
}

Task<ToolAnswer> DelegateHook::call(std::string, json::object arguments, Caller caller) {
  auto orders = orders_from(arguments);
  if (!orders) co_return failed(orders.error().what);
  const auto* flag = arguments.if_contains("background");
  const bool background = flag && flag->is_bool() && flag->get_bool();
  if (const auto good = check_limits(*orders, background, caller); !good)
    co_return failed(good.error().what);

  // The places are taken at once, because another call may be checked before these tasks have
  // begun.
  struct Places {
    std::size_t& taken;
    std::size_t mine;
    ~Places() { taken -= mine; }
  } places{in_background_, background ? orders->size() : 0};
  in_background_ += places.mine;

  auto link = std::make_shared<Link>();
  if (!background) link->ask = caller.ask;
  Leash leash{link};
  for (auto& order : *orders) {
    auto child = co_await start(std::move(order), caller, link);
    leash.children.push_back(std::move(child));
  }
  if (background) {
    json::array started;
    auto origin = caller;
    origin.progress = nullptr;  // the turn must not be kept alive for it
    origin.ask = nullptr;
    for (const auto& child : leash.children) {
      if (!child->run) {
        started.push_back(outcome_of(*child));
        continue;
      }
      started.push_back(json::object{
          {"agent", child->agent}, {"session", child->session}, {"task_id", child->id}});
      --places.mine;  // announce() gives it back
      background_.spawn(announce(child, origin));
      child->error.clear();
    }
    auto answer = ToolAnswer{json::write(started)};
    answer.is_error = std::none_of(leash.children.begin(), leash.children.end(),
                                   [](const auto& child) { return child->run != nullptr; });
    leash.children.clear();
    co_return answer;
  }
  TaskGroup following(needs_.loop, "delegate");
  for (const auto& child : leash.children)
    if (child->run) following.spawn(show(child, caller.progress));
  co_await following.join();
  co_return answer_of(leash.children);
}

// Waits for a child in the background, then publishes an event and sends the result to the
// conversation that asked for it.
Task<void> DelegateHook::announce(std::shared_ptr<Child> child, Caller caller) {
  struct Over {
    std::size_t& count;
    ~Over() { --count; }
  } const over{in_background_};
  const std::function<void(std::string)> nobody;
  co_await follow(child, nobody);
  const bool good = child->error.empty();
  const auto depth = caller.lineage.events + 1;
  auto text = good ? child->result : child->error;
  const auto max = needs_.bus.limits().payload_bytes_max;
  if (text.size() > max) text = utf8::prefix(text, max);
  const auto source = fmt::format("delegate:{}:{}", child->id, good ? "done" : "failed");
  if (const auto sent = needs_.bus.publish(bus::Event{source, text, depth}); !sent)
    log::warn("event {}: {}", source, sent.error().what);
  // Whoever cancelled the task does not want its result.
  if (child->cancelled) co_return;
  runtime::Message message{caller.agent.name, caller.sender, {}, caller.cwd};
  message.content = fmt::format(
      "<delegated task_id=\"{}\" agent=\"{}\" session=\"{}\"{}>\n{}\n"
      "</delegated>",
      child->id, child->agent, child->session, good ? "" : " failed=\"true\"", text);
  message.key = caller.key;
  message.queue = runtime::QueueMode::collect;  // several that end together become one turn
  message.lineage = caller.lineage;
  // A delegated agent keeps its bounds; a worker could not even be found by its name.
  if (caller.lineage.delegations > 0) message.as = caller.agent;
  static_cast<void>(needs_.bus.deliver(std::move(message), depth).ok());
}

}  // namespace reef::hooks
