#include "store/mem/mem_ownership.h"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

namespace reef::store {

struct MemOwnership::Held {
  std::uint64_t epoch = 0;
  Executor loop = {};
  session::Hold::Lost lost = nullptr;
  bool given_up = false;
};

class MemOwnership::MemHoldWatch final : public session::Hold::Watch {
 public:
  explicit MemHoldWatch(std::shared_ptr<Held> held) : held_(std::move(held)) {}
  ~MemHoldWatch() override { held_->lost = nullptr; }

 private:
  std::shared_ptr<Held> held_;
};

class MemOwnership::MemHold final : public session::Hold {
 public:
  explicit MemHold(std::shared_ptr<Held> held) : held_(std::move(held)) {}
  ~MemHold() override { held_->given_up = true; }
  std::uint64_t epoch() const override { return held_->epoch; }
  Result<std::unique_ptr<Watch>> watch(Executor loop, Lost lost) override {
    held_->loop = std::move(loop);
    held_->lost = std::move(lost);
    return std::unique_ptr<Watch>(std::make_unique<MemHoldWatch>(held_));
  }

 private:
  std::shared_ptr<Held> held_;
};

Result<std::unique_ptr<session::Hold>> MemOwnership::take() {
  if (held_ && !held_->given_up)
    return Error(Errc::conflict, fmt::format("the home is in use by pid {}", ::getpid()));
  return seize();
}

Result<std::optional<session::Holder>> MemOwnership::holder() {
  if (!held_ || held_->given_up) return std::optional<session::Holder>();
  return std::optional(session::Holder{::getpid(), held_->epoch});
}

std::unique_ptr<session::Hold> MemOwnership::seize() {
  if (held_ && held_->lost)
    boost::asio::post(held_->loop, [losing = held_] {
      if (losing->lost) std::exchange(losing->lost, nullptr)("somebody else took it");
    });
  auto held = std::make_shared<Held>();
  held->epoch = ++last_epoch_;
  held_ = held;
  return std::make_unique<MemHold>(std::move(held));
}

}  // namespace reef::store
