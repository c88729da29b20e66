#include "runtime/runtime.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/utf8.h"
#include "runtime/bounds.h"
#include "runtime/guest.h"
#include "runtime/reset.h"

namespace reef::runtime {
namespace {

constexpr std::size_t kQueuedTurnsMax = 64;
// Limits over all conversations: turns that run or wait, and the bytes of their messages.
constexpr std::size_t kConversationsMax = 16'384;
constexpr std::size_t kWaitingBytesMax = 128U << 20;
// How long a drain waits for errands that were left behind.
constexpr std::chrono::milliseconds kErrandsGrace{200};
// How long a cancelled turn may take to write down what it said before its readers are told that it
// is over.
constexpr std::chrono::milliseconds kEndPatience{70};

}  // namespace

void Run::cancel() {
  if (!std::exchange(cancelled_, true)) {
    patience_.set_after(kEndPatience);
    patience_.call([weak = weak_from_this()] {
      if (const auto run = weak.lock()) run->end_early();
    });
  }
  stop_->set();
  if (tools_) tools_->cancel();
}

void Run::end_early() {
  End end;
  end.agent = agent_.name;
  end.session_id = session_id_;
  end.hidden = message_.hidden;
  end.error = "cancelled";
  end.code = Errc::cancelled;
  events_.end_early(std::move(end));
}

std::optional<std::string> Run::rest_after_reset() const {
  const auto& lineage = message_.lineage;
  if (lineage.delegations > 0 || lineage.events > 0) return std::nullopt;
  return after_reset_command(message_.content);
}

bool Run::cancel_call(const std::string& call_id) {
  const auto call = calls_.find(call_id);
  if (!tools_ || call == calls_.end()) return false;
  tools_->cancel(call->second);
  return true;
}

Runtime::Runtime(Executor loop, session::Sessions& sessions, Clock& clock, Needs needs)
    : needs_(std::move(needs)),
      loop_(loop),
      sessions_(sessions),
      clock_(clock),
      setup_(std::make_shared<Setup>()),
      questions_(loop, clock),
      decisions_(loop, sessions, clock, questions_,
                 {.busy = [this](const session::SessionId& id) { return busy_in(id); },
                  .may_resume = [this](const Decision& decision) -> Status {
                    REEF_CHECK(message_to_resume(decision));
                    return Ok{};
                  },
                  .resume = [this](const Decision& decision) -> Status {
                    REEF_CHECK(resume(decision));
                    return Ok{};
                  }}),
      decision_changes_(loop, sessions, decisions_),
      sent_(loop, sessions, clock),
      permissions_(loop, sessions, clock),
      forwards_(loop),
      broadcast_(loop),
      errands_(loop, "errands"),
      tasks_(loop, "runtime"),
      idle_(std::move(loop)) {
  decisions_.on_change([this](const Decision& decision) { tell_decision(decision); });
  if (needs_.compactions) hear_of_compactions();
}

void Runtime::configure(std::shared_ptr<const Setup> setup) {
  auto built = std::make_shared<Setup>(*setup);
  for (auto& [name, agent] : built->agents) agent = hooks_.build(std::move(agent));
  if (built->worker) built->worker = hooks_.build(*std::move(built->worker));
  hooks_.announce(setup_->agents, built->agents);
  setup_ = std::move(built);
  offers_.clear();
}

Status Runtime::hold(const std::string& agent) {
  std::size_t running = 0;
  for (const auto& [key, conversation] : conversations_) {
    // Work delegated from its conversations reports back there, under the old name.
    const auto is_its = [&](const auto& run) {
      return run && (run->host().name == agent ||
                     run->message_.lineage.parent.starts_with("agent:" + agent + ":"));
    };
    if (is_its(conversation->current) ||
        std::any_of(conversation->queue.begin(), conversation->queue.end(), is_its) ||
        std::any_of(conversation->steers.begin(), conversation->steers.end(), is_its))
      ++running;
  }
  if (running > 0)
    return Error(Errc::busy,
                 fmt::format("agent '{}' has {} conversation(s) running; wait, or reef kill", agent,
                             running));
  held_.insert(agent);
  return Ok{};
}

Result<Runtime::Address> Runtime::resolve(std::string_view agent_name, std::string_view sender,
                                          const std::optional<std::string>& key_text) const {
  if (!key_text) {
    const std::string who(sender.empty() ? kDefaultSender : sender);
    REEF_TRY(auto agent, setup_->find(agent_name));
    REEF_TRY(auto key, session::Key::of_pair(agent.name, who));
    return Address{std::move(key), std::move(agent), who};
  }
  REEF_TRY(auto key, session::Key::parse(*key_text));
  // agent:<agent>:<sender> names both, unless the caller does; any other key is its own sender.
  const auto pair = key.pair();
  REEF_TRY(auto agent, setup_->find(agent_name.empty() && pair ? pair->first : agent_name));
  std::string who(sender);
  if (who.empty()) who = pair ? pair->second : key.text();
  return Address{std::move(key), std::move(agent), std::move(who)};
}

Result<Runtime::Address> Runtime::address_of(const Message& message) const {
  if (message.as) {
    // An agent that is in no configuration cannot be looked up.
    REEF_TRY(auto key, session::Key::parse(message.key.value_or("")));
    return Address{std::move(key), *message.as, message.sender};
  }
  REEF_TRY(auto address, resolve(message.agent, message.sender, message.key));
  const auto current = sessions_.current(address.key);
  const auto* row = current ? sessions_.find(*current) : nullptr;
  if (const auto* bounds = row ? json::find_object(row->meta, kBoundsField) : nullptr)
    address.agent = within(std::move(address.agent), *bounds);
  return address;
}

Result<std::shared_ptr<Run>> Runtime::submit(Message message) {
  if (draining_) return Error(Errc::unavailable, "the daemon is shutting down");
  if (message.ephemeral) {
    message.key = fmt::format("{}{}", kEphemeralPrefix, runs_ + 1);
    if (message.sender.empty()) message.sender = kDefaultSender;
  }
  REEF_TRY(auto address, address_of(message));
  message.sender = address.sender;
  if (held_.contains(address.agent.name))
    return Error(Errc::busy, fmt::format("agent '{}' is being renamed", address.agent.name));
  std::optional<Agent> host;
  if (!message.guest.empty()) {
    REEF_TRY(auto guest, find_guest(*setup_, message.guest, address.agent));
    if (guest) host = std::exchange(address.agent, *std::move(guest));
  }
  if (!message.resumes && message.content.find_first_not_of(" \t\r\n") == std::string::npos)
    return Error(Errc::invalid, "the message is empty");
  const auto& choice = message.tool_choice;
  const bool brought =
      std::any_of(message.client_tools.begin(), message.client_tools.end(),
                  [&](const model::Tool& tool) { return tool.name == choice.name; });
  if (choice.mode == model::ToolChoice::Mode::named && !host && !brought &&
      !hooks_.toolbox(address.agent).has(choice.name))
    return Error(Errc::invalid,
                 fmt::format("tool_choice: agent '{}' has no tool '{}'; use auto, none, required "
                             "or the name of one",
                             address.agent.name, utf8::excerpt(choice.name)));

  const auto bytes = message.content.size();
  if (conversations_.size() >= kConversationsMax || waiting_bytes_ + bytes > kWaitingBytesMax)
    return Error(Errc::busy, fmt::format("{} conversations with {} MiB of messages are running",
                                         conversations_.size(), waiting_bytes_ >> 20));
  auto& conversation = conversations_[address.key];
  const bool fresh = !conversation;
  if (fresh) conversation = std::make_shared<Conversation>(Conversation{address.key, {}, {}, {}});
  if (conversation->queue.size() + conversation->steers.size() >= kQueuedTurnsMax)
    return Error(Errc::busy, fmt::format("{} messages are waiting in conversation {} already",
                                         kQueuedTurnsMax, address.key.text()));
  const auto mode =
      message.queue ? *message.queue : queue_of(address.key, host ? *host : address.agent);
  auto run = std::make_shared<Run>(loop_, std::move(message), std::move(address.agent), setup_,
                                   std::move(host));
  run->queue_ = mode;
  run->number_ = ++runs_;
  if (run->message_.client) sent_.claim(address.key, *run->message_.client, run);
  enqueue(*conversation, run);
  waiting_bytes_ += bytes;
  if (fresh) tasks_.spawn(work(conversation));
  return run;
}

QueueMode Runtime::queue_of(const session::Key& key, const Agent& host) const {
  const auto current = sessions_.current(key);
  const auto* row = current ? sessions_.find(*current) : nullptr;
  if (row)
    if (const auto mode = queue_mode_from(row->text("queueMode"))) return *mode;
  return host.queue;
}

void Runtime::enqueue(Conversation& conversation, std::shared_ptr<Run> run) {
  const auto busy = conversation.current         ? conversation.current
                    : conversation.queue.empty() ? nullptr
                                                 : conversation.queue.front();
  // A guest speaks in a turn of its own.
  const bool steers = run->queue_ == QueueMode::steer && !run->guest() && !run->rest_after_reset();
  if (busy && steers && !busy->guest() && busy->agent_.name == run->agent_.name) {
    conversation.steers.push_back(std::move(run));
  } else if (busy && run->queue_ == QueueMode::interrupt) {
    if (conversation.current) conversation.current->cancel();
    conversation.queue.push_front(std::move(run));
  } else {
    conversation.queue.push_back(std::move(run));
  }
}

Status Runtime::steer(Message message) {
  REEF_CHECK(running(message.agent, message.sender, message.key));
  message.queue = QueueMode::steer;
  REEF_CHECK(submit(std::move(message)));
  return Ok{};
}

Result<session::Key> Runtime::key_of(std::string_view agent_name, std::string_view sender,
                                     const std::optional<std::string>& key) const {
  if (key) return session::Key::parse(*key);
  const auto agent = setup_->find(agent_name);
  return session::Key::of_pair(agent ? std::string_view(agent->name) : agent_name,
                               sender.empty() ? kDefaultSender : sender);
}

Status Runtime::kill(std::string_view agent_name, std::string_view sender,
                     const std::optional<std::string>& key_text, bool all) {
  REEF_TRY(const auto key, key_of(agent_name, sender, key_text));
  cancel_children(key.text());
  const auto found = conversations_.find(key);
  if (found != conversations_.end()) {
    cancel(*found->second, all);
    return Ok{};
  }
  if (sessions_.current(key)) return Ok{};  // known, and nothing runs
  if (key_text) return Error(Errc::not_found, fmt::format("no conversation '{}'", key.text()));
  REEF_TRY(const auto agent, setup_->find(agent_name));
  return Error(Errc::not_found, fmt::format("conversation not found for agent='{}' sender='{}'",
                                            agent.name, sender.empty() ? kDefaultSender : sender));
}

Result<std::shared_ptr<Run>> Runtime::running(std::string_view agent_name, std::string_view sender,
                                              const std::optional<std::string>& key_text) const {
  REEF_TRY(const auto key, key_of(agent_name, sender, key_text));
  const auto found = conversations_.find(key);
  if (found != conversations_.end()) {
    const auto& conversation = *found->second;
    if (conversation.current) return conversation.current;
    if (!conversation.queue.empty()) return conversation.queue.front();
  }
  return Error(Errc::not_found, fmt::format("nothing runs in conversation {}", key.text()));
}

void Runtime::cancel(Conversation& conversation, bool all) {
  const bool begun = conversation.current != nullptr;
  for (const auto& run : conversation.queue)
    if (all || (!begun && run == conversation.queue.front())) run->cancel();
  if (all)
    for (const auto& run : conversation.steers) run->cancel();
  if (begun) conversation.current->cancel();
}

// The depth of delegation is limited, and so is this recursion.
void Runtime::cancel_children(const std::string& key) {
  const auto all = conversations_;  // a copy: conversations that end are erased
  for (const auto& [child, conversation] : all) {
    const auto is_child = [&](const auto& run) {
      return run && run->message_.lineage.parent == key && child.text() != key;
    };
    if (!is_child(conversation->current) &&
        std::none_of(conversation->queue.begin(), conversation->queue.end(), is_child))
      continue;
    cancel_children(child.text());
    cancel(*conversation, true);
  }
}

void Runtime::hurry() {
  hurried_ = true;
  idle_.notify_all();
}

std::vector<session::Key> Runtime::active_keys() const {
  std::vector<session::Key> keys;
  for (const auto& [key, conversation] : conversations_) keys.push_back(key);
  return keys;
}

bool Runtime::busy_in(const session::SessionId& id) const {
  const auto* row = sessions_.find(id);
  const auto key = session::Key::parse(row ? row->key() : std::string_view());
  return key && conversations_.contains(*key) && sessions_.current(*key) == id;
}

Runtime::Activity Runtime::activity(const session::Key& key) const {
  const auto found = conversations_.find(key);
  if (found == conversations_.end()) return {};
  const auto& conversation = *found->second;
  return {true, conversation.queue.size() + conversation.steers.size()};
}

void Runtime::forget(const Run& run) {
  waiting_bytes_ -= run.message_.content.size();
}

void Runtime::join_waiting(Conversation& conversation, Run& run) {
  const auto may_join = [&](const Run& other) {
    return other.queue_ == QueueMode::collect && !other.cancelled_ && !other.guest() &&
           other.agent_.name == run.agent_.name && !other.rest_after_reset();
  };
  if (!may_join(run)) return;
  auto& queue = conversation.queue;
  for (; !queue.empty() && may_join(*queue.front()); queue.pop_front()) {
    queue.front()->events_.go_on_in(run.shared_events(), {});
    run.joined_.push_back(queue.front());
  }
}

Task<void> Runtime::work(std::shared_ptr<Conversation> conversation) {
  while (!conversation->queue.empty()) {
    conversation->current = conversation->queue.front();
    conversation->queue.pop_front();
    const auto run = conversation->current;
    try {
      join_waiting(*conversation, *run);
      co_await take_turn(*conversation, *run);
      REEF_ASSERT(run->events().closed());
    } catch (const std::exception& error) {
      // A bug or exhausted memory loses this turn, but not the conversation and its queue.
      log::error("conversation {}: turn ended by an exception: {}", conversation->key.text(),
                 error.what());
      if (!run->events().closed())
        run->events().fail(Error(Errc::internal, std::string("the turn failed: ") + error.what()));
    }
    forget(*run);
    if (run->message_.client) sent_.over(conversation->key, *run->message_.client);
    for (const auto& joined : run->joined_) {
      forget(*joined);
      if (joined->message_.client) sent_.over(conversation->key, *joined->message_.client);
    }
    // Their events are read from this run's log, which keeps the run alive: without this, each
    // would keep the other.
    run->joined_.clear();
    conversation->current.reset();
    // Messages that came too late to steer are the next turn.
    while (!conversation->steers.empty()) {
      conversation->steers.back()->queue_ = QueueMode::collect;
      conversation->queue.push_front(std::move(conversation->steers.back()));
      conversation->steers.pop_back();
    }
  }
  conversations_.erase(conversation->key);
  if (conversations_.empty()) idle_.notify_all();
}

Task<void> Runtime::drain(std::chrono::milliseconds grace) {
  draining_ = true;
  const auto over = [this] { return conversations_.empty() || hurried_; };
  static_cast<void>(co_await idle_.wait_for(grace, over));
  if (!conversations_.empty())
    log::warn("{} conversation(s) did not finish in time and are cancelled", conversations_.size());
  const auto left = conversations_;
  for (const auto& [key, conversation] : left) {
    // A question to a person can be answered after the next start.
    if (conversation->current && !conversation->current->cancelled_)
      conversation->current->parked_ = true;
    cancel(*conversation, true);
  }
  co_await tasks_.join();
  co_await decision_changes_.stop();
  co_await decisions_.stop();
  static_cast<void>(co_await errands_.settle(kErrandsGrace));
}

}  // namespace reef::runtime
