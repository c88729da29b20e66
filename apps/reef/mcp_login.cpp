#include "mcp_login.h"

#include <array>
#include <cstdio>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "base/utf8.h"

namespace reef::cli {
namespace {

using boost::asio::posix::stream_descriptor;
using client::Client;

// The time until there is a page: the daemon asks several servers in turn.
constexpr std::chrono::milliseconds kPageMax{180'000};
constexpr std::chrono::milliseconds kLogoutMax{60'000};
constexpr std::size_t kLineBytesMax = 64U << 10;

// Lines of stdin, until there are no more. The terminal's settings stay unchanged for the next
// reader.
class Lines {
 public:
  explicit Lines(const Executor& loop) : input_(loop, ::dup(STDIN_FILENO)) {}

  Task<std::optional<std::string>> next() {
    for (;;) {
      if (const auto end = held_.find('\n'); end != std::string::npos) {
        auto line = held_.substr(0, end);
        held_.erase(0, end + 1);
        co_return line;
      }
      const auto [error] = co_await input_.async_wait(
          stream_descriptor::wait_read, boost::asio::as_tuple(boost::asio::use_awaitable));
      if (error || held_.size() > kLineBytesMax) co_return std::nullopt;
      std::array<char, 4096> bytes{};
      const auto size = ::read(input_.native_handle(), bytes.data(), bytes.size());
      if (size <= 0) co_return std::nullopt;
      held_.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }

 private:
  stream_descriptor input_;
  std::string held_;
};

Task<void> take_pasted(Executor loop, Client& client, std::string id) {
  co_await yield_to_loop();
  Lines lines(loop);
  for (;;) {
    auto line = co_await lines.next();
    if (!line) co_return;
    while (!line->empty() && static_cast<unsigned char>(line->back()) <= ' ') line->pop_back();
    if (line->empty()) continue;
    protocol::ClientMessage message;
    message.mutable_finish_mcp_login()->set_id(id);
    message.mutable_finish_mcp_login()->set_redirect_url(utf8::sanitize(*line));
    const auto answer = co_await client.request(message, Client::Repeat::never, kAnswerMax);
    if (!answer) std::fprintf(stderr, "reef: %s\n", shown(answer.error().what).c_str());
  }
}

void show_page(const Context& context, const std::string& name, const protocol::McpLogin& page) {
  if (context.json) {
    print_line(json::write(json::object{{"event", "visit"},
                                        {"id", page.id()},
                                        {"url", page.url()},
                                        {"redirectUri", page.redirect_uri()}}));
  } else {
    print_line(fmt::format("To log in to {}, open this page in a browser:\n\n  {}\n", shown(name),
                           shown(page.url())));
    print_line(
        fmt::format("Waiting for it to come back to {}.\nA browser on another machine ends "
                    "at a page it cannot reach: paste that page's address here.",
                    shown(page.redirect_uri())));
  }
  std::fflush(stdout);
}

void show_end(const Context& context, const std::string& name, const protocol::McpLogin& end) {
  std::string scopes;
  json::array list;
  for (const auto& scope : end.scopes()) {
    scopes += (scopes.empty() ? "" : " ") + scope;
    list.push_back(json::value(scope));
  }
  if (context.json) {
    print_line(json::write(json::object{{"event", "done"},
                                        {"issuer", end.issuer()},
                                        {"scopes", std::move(list)},
                                        {"expires", end.expires()},
                                        {"renewable", end.renewable()}}));
    return;
  }
  print_line(fmt::format("logged in to {} with {}", shown(name), shown(end.issuer())));
  if (!scopes.empty()) print_line("  scopes: " + shown(scopes));
  if (end.renewable()) {
    print_line("  it is renewed by itself");
  } else if (!end.expires().empty()) {
    print_line("  good until " + shown(end.expires()));
  }
}

}  // namespace

Task<Status> mcp_login(const Context& context, Client& client, std::string agent,
                       std::string name) {
  protocol::ClientMessage message;
  message.mutable_login_mcp()->set_agent(agent);
  message.mutable_login_mcp()->set_name(name);
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  REEF_CO_TRY(const auto page, co_await stream.next(kPageMax));
  if (!page) co_return Error(Errc::internal, "the daemon ended the login without a word");
  const Executor loop = co_await boost::asio::this_coro::executor;
  TaskGroup pasted(loop, "paste");
  if (!page->mcp_login().url().empty()) {
    show_page(context, name, page->mcp_login());
    pasted.spawn(take_pasted(loop, client, page->mcp_login().id()));
  }
  auto end = co_await stream.next();
  pasted.cancel();
  co_await pasted.join();
  if (!end) co_return std::move(end).error();
  if (!*end) co_return Error(Errc::internal, "the daemon ended the login without a word");
  show_end(context, name, (*end)->mcp_login());
  co_return Ok{};
}

Task<Status> mcp_logout(const Context& context, Client& client, std::string agent,
                        std::string name) {
  protocol::ClientMessage message;
  message.mutable_logout_mcp()->set_agent(agent);
  message.mutable_logout_mcp()->set_name(name);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::never, kLogoutMax));
  const auto& end = answer.mcp_logout();
  if (context.json) {
    print_json(json::object{
        {"name", name}, {"wasLoggedIn", end.was_logged_in()}, {"revoked", end.revoked()}});
  } else if (!end.was_logged_in()) {
    print_line(fmt::format("nobody was logged in to {}", shown(name)));
  } else {
    print_line(fmt::format("logged out of {}{}", shown(name),
                           end.revoked() ? "; its tokens are revoked" : ""));
  }
  co_return Ok{};
}

}  // namespace reef::cli
