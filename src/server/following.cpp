#include "server/following.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/notify.h"

namespace reef::server {
namespace {

constexpr std::size_t kChangesPerMessage = 500;
// A single change may have more.
constexpr std::size_t kBytesPerMessage = 1U << 20;
// How often it is looked whether what is followed has become something else.
constexpr std::chrono::seconds kLookStep{1};

constexpr std::string_view kNoCursor = "there was no cursor";
constexpr std::string_view kNoSense = "the cursor makes no sense here";
constexpr std::string_view kOtherDaemon = "the daemon was started anew since the cursor was given";
constexpr std::string_view kOtherScope = "the cursor is of something else, or that has changed";
constexpr std::string_view kTooOld = "more has changed since the cursor than is remembered";

class FollowStream final : public protocol::MessageStream {
 public:
  FollowStream(std::unique_ptr<Followed> what, std::string cursor)
      : what_(std::move(what)), cursor_(std::move(cursor)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    for (;;) {
      auto why = co_await what_->look();
      if (!why) co_return failed(why.error());
      if (!begun_) {
        begun_ = true;
        const auto refused = go_on_from(std::exchange(cursor_, {}));
        if (!refused.empty()) *why = refused;
      } else if (why->empty() && !telling_all_ && !what_->log().remembers(version_)) {
        *why = kTooOld;
      }
      if (!why->empty()) start_over(*std::move(why));
      protocol::ServerMessage out;
      const auto told = telling_all_ ? co_await tell_all(out) : co_await tell_changes(out);
      if (!told) co_return failed(told.error());
      if (*told) co_return out;
      if (more_to_tell()) {
        co_await yield_to_loop();
        continue;
      }
      co_await what_->log().changed().wait_for(kLookStep);
    }
  }

 private:
  std::optional<protocol::ServerMessage> failed(const Error& error) {
    done_ = true;
    return protocol::make_error(error);
  }

  // Why it cannot be; empty: it goes on from there.
  std::string go_on_from(const std::string& cursor) {
    if (cursor.empty()) return std::string(kNoCursor);
    const auto parts = parts_of(cursor);
    std::uint64_t epoch = 0;
    if (parts.size() != 4 || !read_hex(parts[0], epoch) || !read_hex(parts[1], version_))
      return std::string(kNoSense);
    if (epoch != what_->log().epoch()) return std::string(kOtherDaemon);
    if (parts[2] != what_->scope()) return std::string(kOtherScope);
    if (version_ > what_->log().version() || !what_->take_memo(parts[3]))
      return std::string(kNoSense);
    if (!what_->log().remembers(version_)) return std::string(kTooOld);
    return {};
  }

  void start_over(std::string why) {
    why_ = std::move(why);
    telling_all_ = true;
    more_drifted_ = false;
    first_ = true;
    // What changes while it is told is told again behind it.
    version_ = what_->log().version();
  }

  Task<Result<bool>> tell_all(protocol::ServerMessage& out) {
    what_->place(out).set_start_over(std::exchange(why_, {}));
    REEF_CO_TRY(const bool last, co_await what_->tell_all(out, first_));
    first_ = false;
    if (last) {
      telling_all_ = false;
      finish(what_->place(out));
    }
    co_return true;
  }

  // False: there was nothing, and nobody waits to hear so.
  Task<Result<bool>> tell_changes(protocol::ServerMessage& out) {
    std::size_t bytes = 0;
    const auto drifted = what_->drifted(kChangesPerMessage, more_drifted_);
    for (const auto& key : drifted) bytes += co_await what_->tell(out, key);
    // What changes again while it is told gets a later version, and is told again.
    const auto changes = what_->log().after(version_, kChangesPerMessage);
    for (const auto& change : changes) {
      if (bytes >= kBytesPerMessage) break;
      bytes += co_await what_->tell(out, change.key);
      version_ = change.version;
    }
    const bool said = bytes > 0 || !answered_;
    auto& place = what_->place(out);
    // It may have been forgotten meanwhile; the next answer says so.
    if (what_->log().remembers(version_)) finish(place);
    co_return said;
  }

  bool more_to_tell() {
    return more_drifted_ || !what_->log().remembers(version_) ||
           !what_->log().after(version_, 1).empty();
  }

  void finish(protocol::Place& place) {
    auto& log = what_->log();
    answered_ = true;
    place.set_caught_up(!more_to_tell());
    place.set_cursor(
        fmt::format("{:x}.{:x}.{}.{}", log.epoch(), version_, what_->scope(), what_->memo()));
  }

  std::unique_ptr<Followed> what_;
  std::string cursor_;
  std::string why_;
  std::uint64_t version_ = 0;
  bool begun_ = false;
  bool answered_ = false;  // it has been told where it stands
  bool telling_all_ = false;
  bool more_drifted_ = false;
  bool first_ = false;
  bool done_ = false;
};

}  // namespace

protocol::Answer follow(std::unique_ptr<Followed> what, std::string cursor) {
  // However long it is, it was not given by us.
  if (cursor.size() > kCursorBytesMax) cursor = "?";
  return std::make_unique<FollowStream>(std::move(what), std::move(cursor));
}

bool read_hex(std::string_view text, std::uint64_t& out) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return failed == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string_view> parts_of(std::string_view cursor) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto dot = cursor.find('.');
    parts.push_back(cursor.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    cursor.remove_prefix(dot + 1);
  }
}

}  // namespace reef::server
