#include "process/child.h"

#include <csignal>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

namespace reef::process {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kReadBytes = 64U << 10;

Task<Result<std::optional<std::string>>> read_some(Stream& stream) {
  using Bytes = std::optional<std::string>;
  if (!stream.is_open()) co_return Bytes();
  std::string bytes(kReadBytes, '\0');
  boost::system::error_code failed;
  const auto got = co_await stream.async_read_some(
      asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::operation_aborted) throw boost::system::system_error(failed);
  if (failed == asio::error::eof) co_return Bytes();
  if (failed) co_return sys_error(failed.value(), "reading what the child says");
  bytes.resize(got);
  co_return Bytes(std::move(bytes));
}

}  // namespace

void Child::State::watch() {
  auto* into = reinterpret_cast<char*>(&report) + received;
  control.async_read_some(
      asio::buffer(into, sizeof report - received),
      [self = shared_from_this()](boost::system::error_code failed, std::size_t got) {
        self->received += got;
        if (!failed && self->received < sizeof self->report) {
          self->watch();
          return;
        }
        // A keeper that ends without a report was killed, and the child with it.
        self->exit = failed ? Exit{.signal = SIGKILL}
                            : Exit{.code = self->report.code, .signal = self->report.signal};
        self->changed.notify_all();
      });
}

void Child::State::end() {
  boost::system::error_code ignored;
  control.close(ignored);
  input.close(ignored);
}

Child::Child(std::shared_ptr<State> state) : state_(std::move(state)) {}

Child::~Child() {
  state_->end();
}

int Child::pid() const {
  return state_->pid;
}

Task<Result<std::optional<std::string>>> Child::read_output() {
  const auto state = state_;  // the child may be destroyed meanwhile
  co_return co_await read_some(state->output);
}

Task<Result<std::optional<std::string>>> Child::read_errors() {
  const auto state = state_;
  co_return co_await read_some(state->errors);
}

Task<Status> Child::write_input(std::string bytes) {
  const auto state = state_;
  if (!state->input.is_open()) co_return Error(Errc::invalid, "the child's input is closed");
  boost::system::error_code failed;
  co_await asio::async_write(state->input, asio::buffer(bytes),
                             asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::operation_aborted) throw boost::system::system_error(failed);
  if (failed) co_return sys_error(failed.value(), "writing to the child");
  co_return Ok{};
}

void Child::close_input() {
  boost::system::error_code ignored;
  state_->input.close(ignored);
}

Task<Exit> Child::wait() {
  const auto state = state_;
  while (!state->exit) co_await state->changed.wait();
  co_return *state->exit;
}

void Child::signal_group(int number) {
  // As long as the control socket is open, the keeper keeps the number from being reused. When the
  // keeper's end closed it, the watch has seen that.
  if (state_->exit && state_->received < sizeof state_->report) return;
  ::kill(-state_->pid, number);
}

}  // namespace reef::process
