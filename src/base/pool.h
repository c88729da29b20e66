// Threads for work that blocks or burns CPU: disk syncs, directory scans, large parses. Work is a
// function over values handed in and out; it never touches state of the loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "base/task.h"

namespace reef {

class Pool {
 public:
  // Threads are started when work finds none idle, never more than `threads_max`.
  explicit Pool(std::size_t threads_max);
  ~Pool();  // finishes all queued work first
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Any thread.
  void post(std::function<void()> work);

  // Runs f on a pool thread and resumes on the caller's loop. Not cancellable: f runs to its end,
  // so it may refer to the awaiting frame. An exception of f comes out of the await.
  template <class F>
  Task<std::invoke_result_t<F&>> run(F f) {
    using R = std::invoke_result_t<F&>;
    struct Outcome {
      std::optional<R> value;
      std::exception_ptr failure;
    };
    using Slot = std::shared_ptr<Outcome>;
    auto start = [this, &f](auto handler) {
      auto shared = std::make_shared<decltype(handler)>(std::move(handler));
      // Keeps the loop running while the pool still holds the handler.
      auto loop = boost::asio::prefer(boost::asio::get_associated_executor(*shared),
                                      boost::asio::execution::outstanding_work.tracked);
      auto slot = std::make_shared<Outcome>();
      post([&f, slot, shared = std::move(shared), loop = std::move(loop)]() mutable {
        try {
          slot->value.emplace(f());
        } catch (...) {
          slot->failure = std::current_exception();
        }
        boost::asio::post(loop, [shared = std::move(shared), slot = std::move(slot)]() mutable {
          std::move (*shared)(std::move(slot));
        });
      });
    };
    const Slot slot =
        co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Slot)>(
            std::move(start), boost::asio::use_awaitable);
    if (slot->failure) std::rethrow_exception(slot->failure);
    co_return *std::move(slot->value);
  }

  // The same for work that may hang: a cancelled task goes on at once, with operation_aborted, and
  // the stop_token tells the work. f must own all that it uses.
  template <class F>
  Task<std::invoke_result_t<F&, std::stop_token>> run_leavable(F f) {
    using R = std::invoke_result_t<F&, std::stop_token>;
    struct Outcome {
      std::optional<R> value;
      std::exception_ptr failure;
    };
    using Slot = std::shared_ptr<Outcome>;
    auto start = [this](auto handler, F work) {
      using Handler = decltype(handler);
      const auto loop = boost::asio::get_associated_executor(handler);
      auto slot = boost::asio::get_associated_cancellation_slot(handler);
      const auto tracked =
          boost::asio::prefer(loop, boost::asio::execution::outstanding_work.tracked);
      // Used on the loop only, which must not run dry while somebody waits.
      struct Waiting {
        std::optional<std::pair<Handler, std::decay_t<decltype(tracked)>>> rest;
        std::stop_source stop;
        // Set when nobody waits any more. Work that ends because it is told to may come before the
        // task that was cancelled goes on, and must not look as if it had not been.
        Slot left;
        void resume(Slot outcome) {
          if (!rest) return;
          if (left) outcome = left;
          auto [waiter, executor] = *std::move(rest);
          rest.reset();
          boost::asio::get_associated_cancellation_slot(waiter).clear();
          std::move(waiter)(outcome);
        }
      };
      auto waiting = std::make_shared<Waiting>();
      waiting->rest.emplace(std::move(handler), tracked);
      if (slot.is_connected())
        slot.assign([waiting, loop](boost::asio::cancellation_type) {
          waiting->left = std::make_shared<Outcome>();
          waiting->left->failure = std::make_exception_ptr(
              boost::system::system_error(boost::asio::error::operation_aborted));
          boost::asio::post(loop, [waiting] { waiting->resume(waiting->left); });
          waiting->stop.request_stop();
        });
      post([waiting, loop, token = waiting->stop.get_token(), work = std::move(work)]() mutable {
        auto outcome = std::make_shared<Outcome>();
        try {
          outcome->value.emplace(work(token));
        } catch (...) {
          outcome->failure = std::current_exception();
        }
        boost::asio::post(loop, [waiting = std::move(waiting), outcome = std::move(outcome)] {
          waiting->resume(outcome);
        });
      });
    };
    const Slot slot =
        co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Slot)>(
            std::move(start), boost::asio::use_awaitable, std::move(f));
    if (slot->failure) std::rethrow_exception(slot->failure);
    co_return *std::move(slot->value);
  }

  // Runs f(0) to f(count - 1) on pool threads, several at a time, and meanwhile() here. Resumes on
  // the caller's loop when all are done; otherwise as run.
  template <class F, class M>
  Task<void> run_each(std::size_t count, F f, M meanwhile) {
    struct Outcome {
      std::atomic_flag failed;
      std::exception_ptr failure;
      void fail() {
        if (!failed.test_and_set()) failure = std::current_exception();
      }
    } outcome;
    auto start = [&, this](auto handler) {
      using Handler = decltype(handler);
      auto loop = boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                      boost::asio::execution::outstanding_work.tracked);
      // Only the last job to end touches the handler.
      struct Left {
        std::atomic<std::size_t> count;
        std::optional<std::pair<Handler, decltype(loop)>> rest;
      };
      auto left = std::make_shared<Left>();
      left->count = count + 1;
      left->rest.emplace(std::move(handler), std::move(loop));
      const auto end_one = [](Left& from) {
        if (from.count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        auto [done, executor] = *std::move(from.rest);
        from.rest.reset();
        boost::asio::post(executor, [done = std::move(done)]() mutable { std::move(done)(); });
      };
      const auto job = [&f, &outcome, left, end_one](std::size_t i) {
        try {
          f(i);
        } catch (...) {
          outcome.fail();
        }
        end_one(*left);
      };
      for (std::size_t i = 0; i < count; ++i) {
        try {
          post([job, i] { job(i); });
        } catch (const std::exception&) {
          job(i);  // no thread to be had
        }
      }
      try {
        meanwhile();
      } catch (...) {
        outcome.fail();
      }
      end_one(*left);
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        std::move(start), boost::asio::use_awaitable);
    if (outcome.failure) std::rethrow_exception(outcome.failure);
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reef
