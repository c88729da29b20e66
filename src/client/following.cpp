#include "client/following.h"

#include "base/assert.h"
#include "base/notify.h"

namespace reef::client {
namespace {

// Between a connection that broke at once and the next.
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

const protocol::Place* place_in(const protocol::ServerMessage& message) {
  switch (message.msg_case()) {
    case protocol::ServerMessage::kSessionsNews:
      return &message.sessions_news().place();
    case protocol::ServerMessage::kEntriesNews:
      return &message.entries_news().place();
    case protocol::ServerMessage::kTasksNews:
      return &message.tasks_news().place();
    case protocol::ServerMessage::kDecisionsNews:
      return &message.decisions_news().place();
    default:
      return nullptr;
  }
}

std::string& Following::cursor_field() {
  if (request_.has_follow_sessions()) return *request_.mutable_follow_sessions()->mutable_cursor();
  if (request_.has_follow_entries()) return *request_.mutable_follow_entries()->mutable_cursor();
  if (request_.has_follow_decisions())
    return *request_.mutable_follow_decisions()->mutable_cursor();
  REEF_ASSERT(request_.has_follow_tasks());
  return *request_.mutable_follow_tasks()->mutable_cursor();
}

Task<Result<std::optional<protocol::ServerMessage>>> Following::next() {
  const auto loop = co_await boost::asio::this_coro::executor;
  while (!ended_) {
    if (!stream_) {
      auto opened = co_await client_.open(request_);
      if (!opened) {
        // A daemon that restarts takes a while.
        if (!lost_at_ || opened.error().code != Errc::unavailable ||
            steady_now(loop) - *lost_at_ > patience_)
          co_return std::move(opened).error();
        co_await sleep_for(kPause);
        continue;
      }
      stream_.emplace(*std::move(opened));
    }
    auto answer = co_await stream_->next();
    if (!answer) {
      stream_.reset();
      // A connection that is lost, or a daemon that is going: the next one may know.
      if (answer.error().code != Errc::unavailable) {
        ended_ = true;
        co_return std::move(answer).error();
      }
      if (!lost_at_) lost_at_ = steady_now(loop);
      co_await sleep_for(kPause);
      continue;
    }
    lost_at_.reset();
    const auto* place = *answer ? place_in(**answer) : nullptr;
    if (!place) {
      ended_ = true;
      break;
    }
    if (!place->start_over().empty()) cursor_.clear();
    if (!place->cursor().empty()) cursor_ = place->cursor();
    cursor_field() = cursor_;
    co_return std::move(answer);
  }
  co_return std::optional<protocol::ServerMessage>();
}

}  // namespace reef::client
