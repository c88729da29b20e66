// Our requests that wait for their answers: ids, patience, and what ends a call. The table does not
// send anything: whoever opens a call sends its request, and a cancellation when close() says that
// somebody still works on it. Loop thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/notify.h"
#include "rpc/message.h"

namespace reef::rpc {

// The end of a call; exactly one of the three is set.
struct Outcome {
  std::optional<json::object> result = {};
  std::optional<Refusal> refusal = {};
  std::optional<Error> failure = {};  // no answer will come
};

struct Patience {
  std::chrono::milliseconds timeout{0};  // from the last sign of life; 0 waits for ever
  std::chrono::milliseconds max{0};      // for all of the call, however much progress it reports
};

class Call {
 public:
  Call(const Executor& loop, std::int64_t id, Patience patience);

  std::int64_t id() const { return id_; }
  bool answered() const { return answer_.has_value(); }

  // Only the first answer counts.
  void settle(Outcome how);
  // The other side reported progress: its time begins anew, within the limit for the whole call.
  void renew();
  // Whatever made the clock stand still is over: it has at least its time-out from now on.
  void resume();
  // Returns the answer; nullopt when the time is over. While `paused` says so, no time passes;
  // call resume() when that changes.
  Task<std::optional<Outcome>> wait(std::function<bool()> paused = {});

 private:
  std::int64_t id_;
  std::chrono::milliseconds timeout_;
  Executor loop_;
  Moment deadline_;
  Moment last_deadline_;
  std::optional<Outcome> answer_;
  Notify changed_;
};

// `C` is a Call, or a class made of one that holds what the caller needs to know about it.
template <class C = Call>
class Calls {
 public:
  explicit Calls(Executor loop) : loop_(std::move(loop)) {}

  // The rest of C's constructor's arguments come after the loop, the id and the patience.
  template <class... Args>
  std::shared_ptr<C> open(Patience patience, Args&&... args) {
    const auto id = next_id_++;
    auto call = std::make_shared<C>(loop_, id, patience, std::forward<Args>(args)...);
    calls_[id] = call;
    return call;
  }
  // Forgets the call. True when it had no answer yet: the other side may still work on it.
  bool close(std::int64_t id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return false;
    const bool answered = found->second->answered();
    calls_.erase(found);
    return !answered;
  }

  // nullptr when the call was given up, or never existed.
  std::shared_ptr<C> find(std::int64_t id) const {
    const auto found = calls_.find(id);
    return found == calls_.end() ? nullptr : found->second;
  }
  std::shared_ptr<C> find(const json::value& id) const {
    if (!id.is_int64()) return nullptr;
    return find(id.get_int64());
  }

  // Gives an answer to its call; false when nobody waits for it.
  bool settle(Message message) {
    const auto call = find(message.id);
    if (!call) return false;
    if (message.error) {
      call->settle({.refusal = std::move(message.error)});
    } else {
      call->settle({.result = std::move(message.result)});
    }
    return true;
  }
  void fail_all(const Error& why) {
    for (const auto& [id, call] : calls_) call->settle({.failure = why});
  }

  std::size_t size() const { return calls_.size(); }
  auto begin() const { return calls_.begin(); }
  auto end() const { return calls_.end(); }

 private:
  Executor loop_;
  std::map<std::int64_t, std::shared_ptr<C>> calls_;
  std::int64_t next_id_ = 1;
};

}  // namespace reef::rpc
