#include "session_view.h"

#include <fmt/format.h>

namespace reef::cli {
namespace {

constexpr std::size_t kBarCells = 60;
// A model may think about a title for a while.
constexpr std::chrono::minutes kTitlePatience{5};

struct Mark {
  std::string_view kind;
  char sign;
};
constexpr Mark kMarks[] = {{"system", 'S'},   {"tools", 'T'},       {"instructions", 'I'},
                           {"summary", 'm'},  {"user", 'u'},        {"assistant", 'a'},
                           {"thinking", 'h'}, {"tool_result", 'r'}, {"images", 'i'}};

char sign_of(std::string_view kind) {
  for (const auto& mark : kMarks)
    if (mark.kind == kind) return mark.sign;
  return '?';
}

// Draws every part with its sign, even the smallest, then what is free, then what is kept free;
// without a window only the parts.
std::string bar_of(const protocol::ContextDescription& context) {
  std::int64_t sum = 0;
  for (const auto& part : context.parts()) sum += part.tokens();
  const auto whole = std::max({context.window(), sum, std::int64_t{1}});
  const auto cells = [&](std::int64_t tokens) {
    return static_cast<std::size_t>(static_cast<double>(tokens) / static_cast<double>(whole) *
                                    static_cast<double>(kBarCells));
  };
  std::string bar;
  std::int64_t until = 0;
  for (const auto& part : context.parts()) {
    until += part.tokens();
    const auto end = std::min(std::max(cells(until), bar.size() + 1), kBarCells);
    if (end > bar.size()) bar.append(end - bar.size(), sign_of(part.kind()));
  }
  if (context.window() == 0) return bar;
  const auto kept = std::min(cells(context.reserve()), kBarCells - bar.size());
  bar.resize(kBarCells, '.');
  bar.replace(kBarCells - kept, kept, kept, '-');
  return bar;
}

json::object to_json(const protocol::ContextDescription& context) {
  json::array parts;
  for (const auto& part : context.parts())
    parts.push_back(
        json::object{{"kind", part.kind()}, {"tokens", part.tokens()}, {"count", part.count()}});
  json::object out{{"session", context.id()},      {"model", context.model()},
                   {"tokens", context.tokens()},   {"window", context.window()},
                   {"reserve", context.reserve()}, {"estimated", context.estimated()},
                   {"parts", std::move(parts)},    {"prunable", context.prunable()}};
  out["estimateError"] =
      context.estimate_error() < 0 ? json::value(nullptr) : json::value(context.estimate_error());
  return out;
}

void print(const protocol::ContextDescription& context) {
  auto head = fmt::format("{}  {}  {}{}", context.id(), shown(context.model()),
                          context.estimated() ? "about " : "", short_count(context.tokens()));
  if (context.window() > 0)
    head += fmt::format(" of {} tokens, {} kept free", short_count(context.window()),
                        short_count(context.reserve()));
  else
    head += " tokens; the window is not known";
  print_line(head);
  print_line(fmt::format("[{}]", bar_of(context)));
  std::int64_t sum = 0;
  for (const auto& part : context.parts()) sum += part.tokens();
  for (const auto& part : context.parts())
    print_line(fmt::format("{}  {:<13} {:>8} {:>5}  {:>3.0f} %", sign_of(part.kind()),
                           shown(part.kind()), short_count(part.tokens()), part.count(),
                           100 * static_cast<double>(part.tokens()) /
                               static_cast<double>(std::max<std::int64_t>(sum, 1))));
  if (context.prunable() > 0)
    print_line(fmt::format("of that, {} of old tool results are left out of the next call",
                           short_count(context.prunable())));
  if (context.estimate_error() >= 0)
    print_line(fmt::format(
        "parts are estimates that add up to the total, off by {:.1f} % in the mean for this model",
        100 * context.estimate_error()));
}

}  // namespace

std::string speakers_of(const protocol::SessionRow& row) {
  auto out = row.agent().empty() ? std::string("not known") : shown(row.agent());
  if (!row.sender().empty()) out += ", with " + shown(row.sender());
  return out;
}

std::string short_count(std::int64_t tokens) {
  if (tokens < 1000) return fmt::format("{}", tokens);
  if (tokens < 1'000'000) return fmt::format("{:.1f}k", static_cast<double>(tokens) / 1e3);
  return fmt::format("{:.1f}M", static_cast<double>(tokens) / 1e6);
}

std::string shown_usage(const protocol::ContextUsage& usage) {
  auto out = fmt::format("{}{}", usage.estimated() ? "about " : "", short_count(usage.tokens()));
  if (usage.window() == 0) return out + " tokens";
  return out + fmt::format(" of {} tokens ({:.0f} %, {} kept free)", short_count(usage.window()),
                           100 * usage.share(), short_count(usage.reserve()));
}

json::object to_json(const protocol::ContextUsage& usage) {
  return json::object{{"tokens", usage.tokens()},
                      {"window", usage.window()},
                      {"reserve", usage.reserve()},
                      {"share", usage.share()},
                      {"estimated", usage.estimated()}};
}

Task<Result<protocol::SessionDescription>> describe(client::Client& client,
                                                    protocol::DescribeSession request) {
  protocol::ClientMessage message;
  *message.mutable_describe_session() = std::move(request);
  REEF_CO_TRY(auto answer, co_await client.request(std::move(message), client::Client::Repeat::safe,
                                                   kAnswerMax));
  co_return std::move(*answer.mutable_session_description());
}

void print_session(const Context& context, const protocol::SessionDescription& session) {
  const auto& usage = session.usage();
  if (context.json) {
    const auto details = json::parse(session.session().details());
    print_json(json::object{
        {"session", details ? *details : json::value(nullptr)},
        {"model", session.model()},
        {"thinking", session.thinking()},
        {"context", to_json(session.context())},
        {"usage", json::object{{"inputTokens", usage.input_tokens()},
                               {"outputTokens", usage.output_tokens()},
                               {"cacheReadTokens", usage.cache_read_tokens()},
                               {"cacheCreationTokens", usage.cache_creation_tokens()},
                               {"costUsd", usage.cost_usd()},
                               {"replies", usage.replies()}}},
        {"compactions", session.compactions()},
        {"queue", session.queue()},
        {"permissionMode", session.permission_mode()},
        {"running", session.running()},
        {"waiting", session.waiting()},
        {"lastError",
         session.last_error().empty() ? json::value(nullptr) : json::value(session.last_error())},
        {"storePath", session.store_path()},
    });
    return;
  }
  const auto& row = session.session();
  print_line(
      fmt::format("{}  {}", row.id(), shown(row.title().empty() ? row.preview() : row.title())));
  print_line("agent        " + speakers_of(row));
  print_line(fmt::format("model        {}, thinking {}", shown(session.model()),
                         shown(session.thinking())));
  print_line("context      " + shown_usage(session.context()));
  auto tokens = fmt::format("{} in", short_count(usage.input_tokens() + usage.cache_read_tokens() +
                                                 usage.cache_creation_tokens()));
  if (usage.cache_read_tokens() > 0)
    tokens += fmt::format(" ({} cached)", short_count(usage.cache_read_tokens()));
  print_line(fmt::format("tokens       {}, {} out, {} replies, ${:.4f}", tokens,
                         short_count(usage.output_tokens()), usage.replies(), usage.cost_usd()));
  print_line(fmt::format("compactions  {}", session.compactions()));
  print_line(fmt::format("queue        {}{}{}", shown(session.queue()),
                         session.running() ? ", a turn runs" : "",
                         session.waiting() > 0 ? fmt::format(", {} wait", session.waiting()) : ""));
  print_line(fmt::format("permissions  {}", shown(session.permission_mode())));
  if (!session.last_error().empty())
    print_line(fmt::format("last error   {}", shown(session.last_error())));
  print_line(fmt::format("file         {}", shown(session.store_path())));
}

Task<Status> show_window(const Context& context, client::Client& client, std::string id) {
  protocol::ClientMessage message;
  message.mutable_describe_context()->set_id(std::move(id));
  REEF_CO_TRY(const auto answer, co_await client.request(std::move(message),
                                                         client::Client::Repeat::safe, kAnswerMax));
  if (context.json)
    print_json(to_json(answer.context_description()));
  else
    print(answer.context_description());
  co_return Ok{};
}

Task<Status> change_title(const Context& context, client::Client& client, std::string id,
                          std::string title, bool replace) {
  protocol::ClientMessage message;
  if (title.empty()) {
    message.mutable_generate_title()->set_id(std::move(id));
    message.mutable_generate_title()->set_replace(replace);
  } else {
    message.mutable_patch_session()->set_id(std::move(id));
    message.mutable_patch_session()->set_patch(json::write(json::object{{"name", title}}));
  }
  REEF_CO_TRY(
      const auto answer,
      co_await client.request(std::move(message), client::Client::Repeat::never, kTitlePatience));
  const auto& row = answer.session_info().session();
  if (context.json)
    print_json(json::object{{"id", row.id()}, {"name", row.title()}});
  else
    print_line(shown(row.title()));
  co_return Ok{};
}

}  // namespace reef::cli
