// compact: makes room in a session's context.

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "commands.h"

namespace reef::cli {
namespace {

// A model may have to read all of it, in several calls.
constexpr std::chrono::minutes kCompactionMax{30};

Task<Status> compact(const Context& context, client::Client& client,
                     const protocol::Compact& request) {
  protocol::ClientMessage message;
  *message.mutable_compact() = request;
  REEF_CO_TRY(
      const auto answer,
      co_await client.request(std::move(message), client::Client::Repeat::never, kCompactionMax));
  const auto& done = answer.compact();
  if (context.json) {
    print_json(json::object{{"session", done.session_id()},
                            {"messages", done.messages()},
                            {"tokensBefore", done.tokens_before()},
                            {"tokensAfter", done.tokens_after()},
                            {"estimated", done.estimated()},
                            {"archive", done.archive()},
                            {"summary", done.summary()}});
    co_return Ok{};
  }
  print_line(utf8::visible(done.summary()));
  print_line(
      fmt::format("\n{}: {} message(s) summarised, about {} tokens before and {} now; the "
                  "transcript keeps every word",
                  done.session_id(), done.messages(), done.tokens_before(), done.tokens_after()));
  co_return Ok{};
}

}  // namespace

int run_compact(const Context& context, const protocol::Compact& request) {
  return with_client(context, "compact", Start::if_needed,
                     [&](client::Client& client) { return compact(context, client, request); });
}

}  // namespace reef::cli
