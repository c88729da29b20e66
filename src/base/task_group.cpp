#include "base/task_group.h"

#include <exception>
#include <list>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include "base/log.h"
#include "base/notify.h"

namespace reef {
namespace asio = boost::asio;

struct TaskGroup::State {
  State(Executor executor, std::string group_name)
      : loop(executor), name(std::move(group_name)), idle(executor) {}

  Executor loop;
  std::string name;
  Notify idle;
  struct Live {
    Id id = 0;
    asio::cancellation_signal stop = {};
  };
  std::list<Live> live;
  Id last = 0;
};

namespace {

void report(const std::string& name, std::exception_ptr failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) return;
    log::error("task in {} ended by an exception: {}", name, error.what());
  } catch (const std::exception& error) {
    log::error("task in {} ended by an exception: {}", name, error.what());
  }
}

}  // namespace

TaskGroup::TaskGroup(Executor loop, std::string name)
    : state_(std::make_shared<State>(std::move(loop), std::move(name))) {}

TaskGroup::~TaskGroup() {
  cancel();
}

TaskGroup::Id TaskGroup::spawn(Task<void> task) {
  auto it = state_->live.emplace(state_->live.end());
  const auto id = it->id = ++state_->last;
  asio::co_spawn(state_->loop, std::move(task),
                 asio::bind_cancellation_slot(it->stop.slot(),
                                              [state = state_, it](std::exception_ptr failure) {
                                                report(state->name, failure);
                                                state->live.erase(it);
                                                if (state->live.empty()) state->idle.notify_all();
                                              }));
  return id;
}

// Asio 1.81 hands a cancellation from outside the loop to it by raw pointer, and the task may have
// ended before it arrives. So we go into the loop ourselves, and look there.
void TaskGroup::cancel() {
  asio::dispatch(state_->loop, [state = state_, last = state_->last] {
    for (auto it = state->live.begin(); it != state->live.end() && it->id <= last;)
      (it++)->stop.emit(asio::cancellation_type::terminal);
  });
}

void TaskGroup::cancel(Id id) {
  asio::dispatch(state_->loop, [state = state_, id] {
    for (auto& task : state->live)
      if (task.id == id) {
        task.stop.emit(asio::cancellation_type::terminal);
        return;
      }
  });
}

Task<void> TaskGroup::join() {
  const auto state = state_;
  while (!state->live.empty()) co_await state->idle.wait();
}

Task<bool> TaskGroup::join_within(std::chrono::milliseconds patience) {
  const auto state = state_;
  co_return co_await state->idle.wait_for(patience, [state] { return state->live.empty(); });
}

std::size_t TaskGroup::size() const {
  return state_->live.size();
}

}  // namespace reef
