// gc and usage: what can be deleted, and what it all cost.

#include <fmt/format.h>

#include "commands.h"

namespace reef::cli {
namespace {

Task<Status> gc(const Context& context, client::Client& client, protocol::CollectGarbage request) {
  protocol::ClientMessage message;
  *message.mutable_collect_garbage() = request;
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  json::array sessions;
  std::size_t failed = 0;
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Error(Errc::unavailable, "the answer ended early");
    const auto& report = answer->garbage_report();
    if (!report.last()) {
      json::object item{{"id", report.id()},
                        {"why", report.why()},
                        {"since", report.since()},
                        {"bytes", report.bytes()}};
      if (!report.error().empty()) {
        ++failed;
        item["error"] = report.error();
      }
      if (!context.json)
        print_line(fmt::format("{:<40}  {:<8}  since {}  {:>9}{}", report.id(), report.why(),
                               report.since().substr(0, 10), human_bytes(report.bytes()),
                               report.error().empty() ? "" : "  kept: " + shown(report.error())));
      sessions.push_back(std::move(item));
      continue;
    }
    if (context.json) {
      print_json(json::object{{"removed", report.removed()},
                              {"sessions", std::move(sessions)},
                              {"bytes", report.bytes()}});
    } else if (sessions.empty()) {
      print_line("nothing to remove");
    } else {
      print_line(fmt::format("{} session(s), {}{}", report.sessions(), human_bytes(report.bytes()),
                             report.removed() ? "; archived ones are in the trash now, those of "
                                                "the trash are gone"
                                              : "; nothing was changed, reef gc --yes does it"));
    }
    if (failed > 0) co_return Error(Errc::busy, fmt::format("{} session(s) were kept", failed));
    co_return Ok{};
  }
}

std::int64_t tokens_of(const protocol::UsageRow& row) {
  return row.input_tokens() + row.output_tokens() + row.cache_read_tokens() +
         row.cache_creation_tokens();
}

json::object to_json(const protocol::UsageRow& row) {
  return json::object{{"name", row.name()},
                      {"inputTokens", row.input_tokens()},
                      {"outputTokens", row.output_tokens()},
                      {"cacheReadTokens", row.cache_read_tokens()},
                      {"cacheCreationTokens", row.cache_creation_tokens()},
                      {"totalTokens", tokens_of(row)},
                      {"costUsd", row.cost_usd()},
                      {"replies", row.replies()}};
}

void print_usage(const protocol::UsageReport& report, std::string_view by) {
  std::size_t width = by.size();
  for (const auto& row : report.rows()) width = std::max(width, shown(row.name()).size());
  print_line(fmt::format("{:<{}}  {:>12} {:>12} {:>12} {:>12} {:>12} {:>10} {:>8}", by, width,
                         "input", "output", "cache read", "cache write", "tokens", "cost $",
                         "replies"));
  const auto line = [&](const protocol::UsageRow& row) {
    print_line(fmt::format("{:<{}}  {:>12} {:>12} {:>12} {:>12} {:>12} {:>10.4f} {:>8}",
                           shown(row.name()), width, row.input_tokens(), row.output_tokens(),
                           row.cache_read_tokens(), row.cache_creation_tokens(), tokens_of(row),
                           row.cost_usd(), row.replies()));
  };
  for (const auto& row : report.rows()) line(row);
  line(report.total());
}

Task<Status> usage(const Context& context, client::Client& client, protocol::GetUsage request) {
  const std::string by = request.by().empty() ? "model" : request.by();
  protocol::ClientMessage message;
  *message.mutable_get_usage() = std::move(request);
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  protocol::UsageReport report;
  while (!report.last()) {
    REEF_CO_TRY(const auto answer, co_await stream.next(std::chrono::seconds(30)));
    if (!answer) co_return Error(Errc::unavailable, "the answer ended early");
    report.MergeFrom(answer->usage_report());
  }
  if (context.json) {
    json::array rows;
    for (const auto& row : report.rows()) rows.push_back(to_json(row));
    auto total = to_json(report.total());
    total.erase("name");
    print_json(json::object{{"by", by}, {"rows", std::move(rows)}, {"total", std::move(total)}});
  } else if (report.rows().empty()) {
    print_line("no usage");
  } else {
    print_usage(report, by);
  }
  co_return Ok{};
}

}  // namespace

int run_gc(const Context& context, const protocol::CollectGarbage& request) {
  return with_client(context, "gc", Start::if_needed,
                     [&](client::Client& client) { return gc(context, client, request); });
}

int run_usage(const Context& context, const protocol::GetUsage& request) {
  return with_client(context, "usage", Start::if_needed,
                     [&](client::Client& client) { return usage(context, client, request); });
}

}  // namespace reef::cli
