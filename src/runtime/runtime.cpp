#include "runtime/runtime.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/utf8.h"

namespace reef::runtime {
namespace {

constexpr std::size_t kQueuedTurnsMax = 64;

}  // namespace

void Run::cancel() {
  cancelled_ = true;
  stop_provider_.emit(boost::asio::cancellation_type::terminal);
}

Runtime::Runtime(Executor loop, session::Sessions& sessions, Clock& clock)
    : loop_(loop),
      sessions_(sessions),
      clock_(clock),
      setup_(std::make_shared<Setup>()),
      tasks_(loop, "runtime"),
      idle_(std::move(loop)) {}

void Runtime::configure(std::shared_ptr<const Setup> setup) {
  setup_ = std::move(setup);
}

Result<std::shared_ptr<Run>> Runtime::submit(Message message) {
  if (draining_) return Error(Errc::unavailable, "the daemon is shutting down");
  if (message.sender.empty()) message.sender = kDefaultSender;
  REEF_TRY(auto agent, setup_->find(message.agent));
  REEF_TRY(auto key, session::Key::of_pair(agent.name, message.sender));
  if (message.content.find_first_not_of(" \t\r\n") == std::string::npos)
    return Error(Errc::invalid, "the message is empty");

  auto& conversation = conversations_[key];
  const bool fresh = !conversation;
  if (fresh) conversation = std::make_shared<Conversation>(Conversation{key, {}, nullptr});
  if (conversation->queue.size() >= kQueuedTurnsMax)
    return Error(Errc::busy, fmt::format("{} messages are waiting in conversation {} already",
                                         kQueuedTurnsMax, key.text()));
  auto run = std::make_shared<Run>(loop_, std::move(message), std::move(agent), setup_);
  conversation->queue.push_back(run);
  if (fresh) tasks_.spawn(work(conversation));
  return run;
}

Status Runtime::kill(std::string_view agent_name, std::string_view sender) {
  REEF_TRY(const auto agent, setup_->find(agent_name));
  REEF_TRY(
      const auto key,
      session::Key::of_pair(agent.name, utf8::excerpt(sender.empty() ? kDefaultSender : sender)));
  const auto found = conversations_.find(key);
  if (found == conversations_.end()) {
    if (sessions_.current(key)) return Ok{};  // known, and nothing runs
    return Error(Errc::not_found,
                 fmt::format("conversation not found for agent='{}' sender='{}'", agent.name,
                             sender.empty() ? kDefaultSender : sender));
  }
  const auto conversation = found->second;
  for (const auto& run : conversation->queue) run->cancel();
  if (conversation->current) conversation->current->cancel();
  return Ok{};
}

Task<void> Runtime::work(std::shared_ptr<Conversation> conversation) {
  while (!conversation->queue.empty()) {
    conversation->current = conversation->queue.front();
    conversation->queue.pop_front();
    const auto run = conversation->current;
    try {
      co_await take_turn(conversation->key, *run);
      REEF_ASSERT(run->events().closed());
    } catch (const std::exception& error) {
      // A bug or no memory: this turn is lost, the conversation and its queue are not.
      log::error("conversation {}: turn ended by an exception: {}", conversation->key.text(),
                 error.what());
      if (!run->events().closed())
        run->events().fail(Error(Errc::internal, std::string("the turn failed: ") + error.what()));
    }
    conversation->current.reset();
  }
  conversations_.erase(conversation->key);
  if (conversations_.empty()) idle_.notify_all();
}

Task<void> Runtime::drain(std::chrono::milliseconds grace) {
  draining_ = true;
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (!conversations_.empty() && std::chrono::steady_clock::now() < deadline)
    static_cast<void>(co_await idle_.wait_until(deadline));
  if (!conversations_.empty())
    log::warn("{} conversation(s) did not finish in time and are cancelled", conversations_.size());
  const auto left = conversations_;
  for (const auto& [key, conversation] : left) {
    for (const auto& run : conversation->queue) run->cancel();
    if (conversation->current) conversation->current->cancel();
  }
  co_await tasks_.join();
}

}  // namespace reef::runtime
