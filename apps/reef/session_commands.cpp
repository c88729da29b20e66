// sessions, show: looking at sessions.

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "commands.h"
#include "follow_commands.h"
#include "session/context.h"
#include "session/transcript.h"

namespace reef::cli {
namespace {

Task<Status> print_trash(const Context& context, client::Client& client) {
  protocol::ClientMessage message;
  message.mutable_list_trash();
  REEF_CO_TRY(const auto answer, co_await client.request(message, client::Client::Repeat::safe,
                                                         std::chrono::seconds(30)));
  json::array ids;
  for (const auto& id : answer.trash_list().ids()) {
    if (!context.json) print_line(id);
    ids.emplace_back(id);
  }
  if (context.json) print_json(ids);
  if (!context.json && ids.empty()) print_line("the trash is empty");
  co_return Ok{};
}

// Says why a list is empty, and what to do about it.
std::string none_found(const SessionsOptions& options) {
  const auto& query = options.query;
  if (!query.text().empty())
    return fmt::format(
        "no session has '{0}' in its title or first words; `reef search '{0}'` looks through all "
        "that was said",
        shown(query.text()));
  auto unfiltered = protocol::ListSessions();
  unfiltered.set_limit(query.limit());
  unfiltered.set_sort(query.sort());
  unfiltered.set_ascending(query.ascending());
  if (query.SerializeAsString() != unfiltered.SerializeAsString())
    return "no session fits; `reef sessions` lists all";
  return "no sessions; say something: reef chat";
}

Task<Status> sessions(const Context& context, client::Client& client, SessionsOptions options) {
  if (options.trash) co_return co_await print_trash(context, client);
  if (options.follow) co_return co_await follow_sessions(context, client, options.query);
  REEF_CO_TRY(const auto list, co_await client.sessions(options.query));
  if (context.json) {
    json::array out;
    for (const auto& row : list.sessions()) out.push_back(details(row));
    print_json(out);
    if (!list.cursor().empty())
      std::fprintf(stderr, "reef: sessions: %d of %llu; the rest: --cursor '%s'\n",
                   list.sessions_size(), static_cast<unsigned long long>(list.total()),
                   list.cursor().c_str());
    co_return Ok{};
  }
  if (list.sessions().empty()) {
    print_line(none_found(options));
    co_return Ok{};
  }
  std::size_t id_width = 0;
  for (const auto& row : list.sessions()) id_width = std::max(id_width, row.id().size());
  const auto now = SystemClock().now();
  for (const auto& row : list.sessions()) print_line(line_of(row, now, id_width));
  if (!list.cursor().empty())
    print_line(fmt::format("{} of {} shown; the rest: --cursor '{}'", list.sessions_size(),
                           list.total(), shown(list.cursor())));
  co_return Ok{};
}

// Describes an entry in one line, for the tree.
std::string line_about(const session::Entry& entry) {
  if (const auto message = session::message_of(entry))
    return fmt::format("{}: {}", session::role_of(*message),
                       shown(utf8::prefix(session::text_of(*message), 200)));
  if (session::meta_of(entry)) return "metadata";
  const auto custom = json::find_string(entry.body, "customType");
  return custom ? std::string(*custom) : entry.type;
}

void print_tree(const session::Transcript& transcript) {
  const auto& entries = transcript.entries();
  const auto labels = transcript.labels();
  std::vector<std::vector<std::size_t>> children(entries.size());
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto parent = transcript.parents()[i];
    (parent < entries.size() ? children[parent] : roots).push_back(i);
  }
  // A chain stays in its column; only a fork moves its later branches to the right.
  struct Step {
    std::size_t entry;
    std::size_t depth;
  };
  std::vector<Step> todo;
  for (auto it = roots.rbegin(); it != roots.rend(); ++it) todo.push_back({*it, 0});
  while (!todo.empty()) {
    const auto [at, depth] = todo.back();
    todo.pop_back();
    const auto& entry = entries[at];
    const auto label = labels.find(entry.id.text);
    print_line(fmt::format(
        "{}{} {}{}{}", std::string(2 * std::min<std::size_t>(depth, 40), ' '), shown(entry.id.text),
        utf8::prefix_chars(line_about(entry), 70),
        label == labels.end() ? std::string() : fmt::format("  #{}", shown(label->second)),
        at + 1 == entries.size() ? "  <- leaf" : ""));
    const auto& below = children[at];
    for (std::size_t i = below.size(); i > 0; --i)
      todo.push_back({below[i - 1], below.size() > 1 ? depth + 1 : depth});
  }
}

Task<Status> show(const Context& context, client::Client& client, std::string id, View view) {
  REEF_CO_TRY(const auto found, co_await client.read_session(std::move(id)));
  if (view == View::raw) {
    Output output;
    output.write(found.bytes);
    output.end();
    co_return Ok{};
  }
  const session::Transcript transcript(session::read_transcript(found.bytes));
  if (context.json) {
    json::array entries;
    if (view == View::branch) {
      for (const auto* entry : transcript.branch()) entries.push_back(entry->body);
    } else {
      for (const auto& entry : transcript.entries()) entries.push_back(entry.body);
    }
    const auto& header = transcript.header().body;
    const auto* leaf = transcript.leaf();
    print_json(json::object{{"session", details(found.row)},
                            {"header", header.empty() ? json::value(nullptr) : json::value(header)},
                            {"leaf", leaf ? json::value(leaf->id.text) : json::value(nullptr)},
                            {"entries", std::move(entries)}});
    co_return Ok{};
  }
  print_line(fmt::format("{}  {}  {} messages", found.row.id(), shown(found.row.key()),
                         found.row.message_count()));
  if (!transcript.damage().empty())
    print_line(
        fmt::format("note: {} damaged place(s); reef fsck tells more", transcript.damage().size()));
  print_line("");
  if (view == View::tree) {
    print_tree(transcript);
  } else if (view == View::branch) {
    for (const auto* entry : transcript.branch()) print_entry(context, *entry);
  } else {
    for (const auto& entry : transcript.entries()) print_entry(context, entry);
  }
  co_return Ok{};
}

}  // namespace

int run_sessions(const Context& context, const SessionsOptions& options) {
  return with_client(context, "sessions", Start::if_needed,
                     [&](client::Client& client) { return sessions(context, client, options); });
}

int run_show(const Context& context, const std::string& id, View view) {
  return with_client(context, "show", Start::if_needed,
                     [&](client::Client& client) { return show(context, client, id, view); });
}

}  // namespace reef::cli
