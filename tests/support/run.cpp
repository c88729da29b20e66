#include "support/run.h"

namespace reef::test {

bool drive(boost::asio::io_context& io, const bool& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  io.restart();
  while (!done && std::chrono::steady_clock::now() < deadline) {
    if (io.stopped()) io.restart();
    io.run_one_until(deadline);
  }
  return done;
}

void run_ready(boost::asio::io_context& io) {
  io.restart();
  while (io.poll() > 0) {
  }
}

}  // namespace reef::test
