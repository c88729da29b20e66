#include <algorithm>
#include <cctype>
#include <cstdio>

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"
#include "base/random.h"
#include "base/task_group.h"
#include "component/door.h"
#include "component/port_file.h"

namespace reef::component {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kNameBytesMax = 64;
// For answers that are on their way; a tool that takes longer is cut off.
constexpr std::chrono::milliseconds kGoodbyePatience{500};

Task<void> live(asio::io_context& io, const Service& service, const Options& options,
                Status& outcome) {
  PosixFiles files;
  // Before others can know of the port: a component that is stopped at once must still remove its
  // port file.
  asio::signal_set signals(io, SIGTERM, SIGINT);
  // Every local user can reach the port; whoever can read the port file may use it.
  constexpr std::size_t kTokenHexDigits = 64;
  const auto token = SystemRandom().hex(kTokenHexDigits);
  auto server = open_door(io.get_executor(), service, token);
  if (!server) {
    outcome = std::move(server).error();
    co_return;
  }
  TaskGroup work(io.get_executor(), service.name);
  {
    const auto port = PortFile::write(files, options.home, service.name, (*server)->port(), token);
    if (port) {
      log::info("{}: answering on 127.0.0.1:{}", service.name, (*server)->port());
      if (options.work) work.spawn(options.work());
      boost::system::error_code ignored;
      co_await signals.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      outcome = Ok{};
    } else {
      outcome = port.error();
    }
  }
  work.cancel();
  co_await work.join();
  co_await (*server)->stop(kGoodbyePatience);
}

}  // namespace

bool is_service_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

int run(Service service, Options options) {
  ::signal(SIGPIPE, SIG_IGN);
  static_cast<void>(log::open({.file = {}}));  // to stderr, where systemd reads it
  asio::io_context io(1);
  Status outcome = Error(Errc::internal, "ended unexpectedly");
  {
    TaskGroup main(io.get_executor(), "main");
    main.spawn(live(io, service, options, outcome));
    io.run();
  }
  log::close();
  if (outcome) return 0;
  std::fprintf(stderr, "%s: %s\n", service.name.c_str(), outcome.error().what.c_str());
  return traits(outcome.error().code).exit_code;
}

}  // namespace reef::component
