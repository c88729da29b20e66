#include "http_server/link.h"

#include <array>

namespace reef::http_server {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadBytes = 16U << 10;
constexpr std::chrono::milliseconds kLinger{2'000};
constexpr std::size_t kLingerBytesMax = 8U << 20;

class PlainWire final : public Wire {
 public:
  explicit PlainWire(Socket socket) : socket_(std::move(socket)) {}

  Task<boost::system::error_code> begin() override { co_return boost::system::error_code(); }
  Task<Moved> read_some(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await socket_.async_read_some(into, kAwait);
    co_return Moved{error, bytes};
  }
  Task<Moved> write_some(asio::const_buffer from) override {
    const auto [error, bytes] = co_await socket_.async_write_some(from, kAwait);
    co_return Moved{error, bytes};
  }
  Task<void> finish() override {
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    co_return;
  }
  Socket& socket() override { return socket_; }

 private:
  Socket socket_;
};

}  // namespace

std::unique_ptr<Wire> plain_wire(Socket socket) {
  return std::make_unique<PlainWire>(std::move(socket));
}

Link::Link(Executor loop, std::unique_ptr<Wire> wire, const Limits& limits,
           std::function<void(Link&)> on_end)
    : loop_(std::move(loop)),
      wire_(std::move(wire)),
      limits_(limits),
      on_end_(std::move(on_end)),
      reading_(loop_),
      writing_(loop_) {}

Link::~Link() {
  cut();
  on_end_(*this);
}

Task<boost::system::error_code> Link::begin() {
  expect_within(limits_.header);
  const auto failed = co_await wire_->begin();
  patient();
  co_return failed;
}

void Link::set(Patience& patience, std::chrono::milliseconds duration) {
  const auto turn = ++patience.turn;
  patience.alarm.set_after(duration);
  patience.alarm.call([weak = weak_from_this(), &patience, turn] {
    const auto it = weak.lock();
    if (!it || patience.turn != turn) return;
    it->timed_out_ = true;
    boost::system::error_code ignored;
    it->wire_->socket().cancel(ignored);
  });
}

void Link::clear(Patience& patience) {
  ++patience.turn;
  patience.alarm.cancel();
}

void Link::expect_within(std::chrono::milliseconds duration) {
  set(reading_, duration);
}

void Link::patient() {
  clear(reading_);
}

Task<Moved> Link::read_more() {
  if (timed_out_) co_return Moved{asio::error::timed_out, 0};
  const auto before = ahead_.size();
  ahead_.resize(before + kReadBytes);
  auto moved = co_await wire_->read_some(asio::buffer(ahead_.data() + before, kReadBytes));
  ahead_.resize(before + moved.bytes);
  if (moved.error && timed_out_) moved.error = asio::error::timed_out;
  co_return moved;
}

Task<Moved> Link::read_some(asio::mutable_buffer into) {
  if (!ahead_.empty()) {
    const auto bytes = asio::buffer_copy(into, asio::buffer(ahead_));
    ahead_.erase(0, bytes);
    co_return Moved{{}, bytes};
  }
  if (timed_out_) co_return Moved{asio::error::timed_out, 0};
  co_return co_await wire_->read_some(into);
}

Task<Moved> Link::write_some(asio::const_buffer from) {
  if (timed_out_) co_return Moved{asio::error::timed_out, 0};
  set(writing_, limits_.stall);
  const auto moved = co_await wire_->write_some(asio::buffer(from, kPieceBytes));
  clear(writing_);
  co_return moved;
}

Task<Status> Link::write(std::string_view bytes) {
  while (!bytes.empty()) {
    auto piece = bytes.substr(0, kPieceBytes);
    bytes.remove_prefix(piece.size());
    set(writing_, limits_.stall);
    while (!piece.empty()) {
      if (timed_out_) co_return Error(Errc::timeout, "the peer takes its answer too slowly");
      const auto moved = co_await wire_->write_some(asio::buffer(piece));
      if (moved.error && !timed_out_) {
        clear(writing_);
        co_return Error(Errc::unavailable, moved.error.message());
      }
      piece.remove_prefix(moved.bytes);
    }
    clear(writing_);
  }
  co_return Ok{};
}

Task<void> Link::linger() {
  if (timed_out_ || !wire_->socket().is_open()) co_return;
  expect_within(kLinger);
  co_await wire_->finish();
  std::array<char, kReadBytes> unwanted;
  for (std::size_t bytes = 0; bytes < kLingerBytesMax && !timed_out_;) {
    const auto [error, some] =
        co_await wire_->socket().async_read_some(asio::buffer(unwanted), kAwait);
    if (error) break;
    bytes += some;
  }
  patient();
}

void Link::cut() {
  boost::system::error_code ignored;
  wire_->socket().close(ignored);
}

}  // namespace reef::http_server
