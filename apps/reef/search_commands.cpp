// search: finds everything that was ever said.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "commands.h"

namespace reef::cli {
namespace {

// After this time the user is told why it takes long: the whole history may have to be read first.
constexpr std::chrono::seconds kAtOnce{3};
constexpr std::chrono::minutes kTimeout{15};

std::string origin_id(const protocol::SessionRow& row) {
  const auto details = json::parse(row.details());
  const auto* object = details ? details->if_object() : nullptr;
  const auto origin = object ? json::find_string(*object, "origin") : std::nullopt;
  if (!origin) return "";
  const auto colon = origin->find(':');
  return std::string(colon == std::string_view::npos ? *origin : origin->substr(colon + 1));
}

// The speaker: a guest, or the session's own agent.
const std::string& speaker_of(const protocol::FoundItem& item, const protocol::SessionRow& row) {
  return item.agent().empty() && item.role() == "assistant" ? row.agent() : item.agent();
}

void write_item(json::ObjectText& out, const protocol::FoundItem& item,
                const protocol::SessionRow& row) {
  out.open_object();
  out.text("entry", item.entry());
  out.text("role", item.role());
  out.number("index", std::uint64_t{item.index()});
  out.text("snippet", item.snippet());
  out.flag("truncated", item.truncated());
  out.open_list("matches");
  for (int i = 0; i + 1 < item.matches_size(); i += 2) {
    out.open_list();
    out.element(item.matches(i));
    out.element(item.matches(i + 1));
    out.close_list();
  }
  out.close_list();
  out.text("time", item.time());
  if (!item.tool().empty()) out.text("tool", item.tool());
  if (const auto& agent = speaker_of(item, row); !agent.empty()) out.text("agent", agent);
  out.close_object();
}

void write_hit(json::ObjectText& out, const protocol::FoundHit& hit, std::string_view source_id) {
  const auto& row = hit.session();
  out.open_object();
  out.text("session", row.id());
  out.text("entry", hit.entry());
  out.number("score", hit.score());
  out.text("title", row.title());
  out.text("agent", row.agent());
  out.text("sender", row.sender());
  out.text("updatedAt", row.updated_at());
  out.number("hit", std::uint64_t{hit.hit()});
  if (!source_id.empty()) out.text("source_id", source_id);
  out.open_list("items");
  for (const auto& item : hit.items()) write_item(out, item, row);
  out.close_list();
  out.close_object();
}

// Writes text directly, because a tree of values for a page with its windows takes longer than the
// search.
std::string results_json(const protocol::SearchResults& results, bool by_session) {
  constexpr std::size_t kUsualBytes = 256U << 10;
  json::ObjectText out(kUsualBytes);
  out.open_list(by_session ? "sessions" : "hits");
  std::unordered_map<std::string_view, std::string> source_ids;  // hits are often of one session
  for (const auto& hit : results.hits()) {
    const auto [known, is_new] = source_ids.try_emplace(hit.session().id());
    if (is_new) known->second = origin_id(hit.session());
    write_hit(out, hit, known->second);
  }
  out.close_list();
  out.flag("more", results.more());
  out.number("microseconds", std::uint64_t{results.microseconds()});
  return out.take();
}

// The part of a snippet a person sees: a few lines around the first match. [first, second)
std::pair<std::size_t, std::size_t> excerpt_of(const protocol::FoundItem& item) {
  constexpr std::size_t kBytes = 320, kBefore = 80;
  const std::string_view text = item.snippet();
  if (text.size() <= kBytes) return {0, text.size()};
  const std::size_t match = item.matches_size() > 0 ? item.matches(0) : 0;
  const auto inside_character = [&](std::size_t at) {
    return at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80;
  };
  auto from = std::min(match - std::min(match, kBefore), text.size() - kBytes);
  auto to = from + kBytes;
  // Cuts between words where that loses little.
  if (const auto space = text.find(' ', from); from > 0 && space < std::min(match, from + kBefore))
    from = space + 1;
  while (inside_character(from)) ++from;
  while (inside_character(to)) --to;
  return {from, to};
}

// The text with every mark replaced by the terminal's code.
std::string with_codes(std::string_view marked, char begin, char end) {
  std::string out;
  for (const char c : marked) {
    if (c == begin) {
      out += "\x1b[1;33m";
    } else if (c == end) {
      out += "\x1b[0m";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// The excerpt with its matches bright.
std::string highlighted(const protocol::FoundItem& item, bool color) {
  const std::string_view text = item.snippet();
  if (text.empty() && item.entry().empty())
    return "(cannot be shown: too long, or somebody else changed the session; then: reef reload)";
  const auto [from, to] = excerpt_of(item);
  // These marks cannot come from the text, because printable() removes them. Marking first lets
  // white space be joined across the whole text and still stay where it touches a match.
  constexpr char kBegin = '\x01', kEnd = '\x02';
  std::string marked;
  auto at = from;
  for (int i = 0; color && i + 1 < item.matches_size(); i += 2) {
    const std::size_t begin = item.matches(i), end = item.matches(i + 1);
    if (begin < at || end > to || begin > end) continue;
    marked += utf8::visible(text.substr(at, begin - at));
    marked += kBegin + utf8::visible(text.substr(begin, end - begin)) + kEnd;
    at = end;
  }
  marked += utf8::visible(text.substr(at, to - at));
  const auto line = with_codes(utf8::single_line(marked), kBegin, kEnd);
  return (from > 0 ? "..." : "") + line + (to < text.size() || item.truncated() ? "..." : "");
}

void print_results(const Context& context, const protocol::SearchResults& results) {
  const auto now = SystemClock().now();
  const auto bold = context.color() ? "\x1b[1m" : "";
  const auto faint = context.color() ? "\x1b[2m" : "";
  const auto plain = context.color() ? "\x1b[0m" : "";
  if (results.hits().empty()) print_line("nothing found");
  // The hits of one session are shown together, at the place of the best one.
  std::vector<std::pair<std::string, std::vector<const protocol::FoundHit*>>> sessions;
  for (const auto& hit : results.hits()) {
    const auto known = std::find_if(sessions.begin(), sessions.end(), [&](const auto& one) {
      return one.first == hit.session().id();
    });
    auto& session =
        known != sessions.end()
            ? *known
            : sessions.emplace_back(hit.session().id(), std::vector<const protocol::FoundHit*>());
    session.second.push_back(&hit);
  }
  for (const auto& [id, hits] : sessions) {
    const auto& row = hits.front()->session();
    const auto item_of = [](const protocol::FoundHit& hit) -> const protocol::FoundItem& {
      return hit.items(static_cast<int>(hit.hit()));
    };
    const auto when = parse_iso(item_of(*hits.front()).time()).value_or(now);
    const auto title = shown(row.title().empty() ? row.preview() : row.title());
    // The agent of an imported session may be unknown.
    const auto whose = row.agent().empty() ? "" : ", " + shown(row.agent());
    print_line(fmt::format("{}{}{}  {}{} ago{}{}", bold, utf8::prefix_chars(title, 60), plain,
                           faint, short_age(when, now), whose, plain));
    for (const auto* hit : hits) {
      const auto& item = item_of(*hit);
      print_line(fmt::format("  {}: {}",
                             shown(!item.tool().empty()   ? item.tool()
                                   : item.agent().empty() ? item.role()
                                                          : item.agent()),
                             highlighted(item, context.color())));
    }
    print_line(fmt::format("  {}reef show {}{}", faint, id, plain));
    print_line("");
  }
  if (results.more()) print_line("there is more: --offset N");
}

Task<void> say_why_it_takes_long(client::Client& client) {
  protocol::ClientMessage message;
  message.mutable_list_tasks();
  const auto answer = co_await client.request(message, client::Client::Repeat::safe, kAtOnce);
  if (!answer) co_return;
  for (const auto& task : answer->task_list().tasks())
    if (task.kind() == "index")
      std::cerr << "reef: search: waiting, the daemon " << shown(task.what()) << '\n';
}

Task<Result<protocol::SearchResults>> ask(client::Client& client, protocol::SearchSessions query) {
  protocol::ClientMessage message;
  *message.mutable_search_sessions() = std::move(query);
  auto answer = co_await client.request(message, client::Client::Repeat::safe, kAtOnce);
  if (!answer && answer.error().code == Errc::timeout) {
    co_await say_why_it_takes_long(client);
    answer = co_await client.request(message, client::Client::Repeat::safe, kTimeout);
  }
  if (!answer) co_return answer.error();
  co_return std::move(*answer->mutable_search_results());
}

protocol::SearchSessions query_from(const SearchOptions& options) {
  protocol::SearchSessions query;
  query.set_query(utf8::sanitize(options.query));
  query.set_limit(options.limit);
  query.set_offset(options.offset);
  query.set_by_session(options.by_session);
  if (options.before) query.set_context_before(*options.before);
  if (options.after) query.set_context_after(*options.after);
  query.set_agent(options.agent);
  query.set_sender(options.sender);
  query.set_exclude(options.exclude);
  return query;
}

Task<Status> search(const Context& context, client::Client& client, SearchOptions options) {
  auto query = query_from(options);
  const auto answer = [&]() -> Task<Status> {
    REEF_CO_TRY(const auto results, co_await ask(client, query));
    if (context.json) {
      print_line(results_json(results, query.by_session()));
    } else {
      print_results(context, results);
    }
    co_return Ok{};
  };
  if (!options.from_stdin) co_return co_await answer();
  // Reads one question a line and prints one answer a line, also for errors.
  std::uint64_t number = 0, failures = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    query.set_query(utf8::sanitize(line));
    const auto answered = co_await answer();
    if (answered) continue;
    const auto code = answered.error().code;
    // Without a daemon the other lines would fail, too.
    if (code == Errc::unavailable || code == Errc::timeout) co_return answered.error();
    ++failures;
    if (context.json) {
      print_json(json::object{{"error", answered.error().what}});
    } else {
      report(fmt::format("search: line {}", number), answered.error());
    }
  }
  if (failures == 0) co_return Ok{};
  co_return Error(Errc::invalid, fmt::format("{} of {} lines got no answer", failures, number));
}

}  // namespace

int run_search(const Context& context, const SearchOptions& options) {
  return with_client(context, "search", Start::if_needed,
                     [&](client::Client& client) { return search(context, client, options); });
}

}  // namespace reef::cli
