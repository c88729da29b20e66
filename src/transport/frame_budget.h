// Limits what the unfinished frames of all connections hold together. When they are too much in
// sum, all but the oldest wait, unread, so that one after the other comes to its end. Small frames
// always come through. Requests that wait behind another one of their connection have a limit of
// the same size. Loop thread only.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "base/notify.h"

namespace reef::transport {

class FrameBudget {
 public:
  // Frames of at most this size are not counted.
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kBytesMax = 64U << 20;

  explicit FrameBudget(Executor loop, std::size_t bytes_max = kBytesMax)
      : bytes_max_(bytes_max), changed_(std::move(loop)) {}

  // The share of one connection.
  class Share {
   public:
    explicit Share(std::shared_ptr<FrameBudget> budget) : budget_(std::move(budget)) {}
    ~Share() {
      hold(0);
      if (budget_) budget_->queued_ -= queued_;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Tells how many bytes of an unfinished frame are held now.
    void hold(std::size_t bytes);
    bool holds() const { return bytes_ > 0; }
    // Whether it may read more than a small frame now.
    bool may_grow() const {
      return !budget_ || budget_->bytes_ < budget_->bytes_max_ ||
             (bytes_ > 0 && budget_->holders_.front() == this);
    }
    // Returns when may_grow() may have changed.
    Task<void> wait() {
      const Waiting counted(budget_);
      co_await budget_->changed_.wait();
    }
    // Counts whole requests that wait for their turn, by themselves. False when there is no room.
    bool queue(std::size_t bytes) {
      if (!budget_) return true;
      if (bytes > kSmall && budget_->queued_ + bytes > budget_->bytes_max_) return false;
      budget_->queued_ += bytes;
      queued_ += bytes;
      return true;
    }
    void unqueue(std::size_t bytes) {
      if (!budget_) return;
      budget_->queued_ -= bytes;
      queued_ -= bytes;
    }
    // Whether others wait for this one, the oldest, to come to its end.
    bool is_waited_for() const {
      return bytes_ > 0 && budget_->waiting_ > 0 && budget_->holders_.front() == this;
    }
    // Wakes a connection that waits, for another reason.
    void nudge() {
      if (budget_) budget_->changed_.notify_all();
    }

   private:
    std::shared_ptr<FrameBudget> budget_;  // none: no limit
    std::size_t bytes_ = 0;
    std::size_t queued_ = 0;
    std::list<const Share*>::iterator place_;
  };

 private:
  struct Waiting {
    explicit Waiting(std::shared_ptr<FrameBudget> in) : budget(std::move(in)) {
      ++budget->waiting_;
    }
    ~Waiting() { --budget->waiting_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    std::shared_ptr<FrameBudget> budget;
  };

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::size_t waiting_ = 0;
  std::size_t queued_ = 0;
  std::list<const Share*> holders_;  // the oldest first
  Notify changed_;
};

inline void FrameBudget::Share::hold(std::size_t bytes) {
  if (!budget_) return;
  if (bytes <= kSmall) bytes = 0;
  if (bytes == bytes_) return;
  if (bytes_ == 0) place_ = budget_->holders_.insert(budget_->holders_.end(), this);
  budget_->bytes_ += bytes;
  budget_->bytes_ -= bytes_;
  const bool less = bytes < bytes_;
  bytes_ = bytes;
  if (bytes_ == 0) budget_->holders_.erase(place_);
  if (less) budget_->changed_.notify_all();
}

}  // namespace reef::transport
