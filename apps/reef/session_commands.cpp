// sessions, show.

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "commands.h"
#include "session/transcript.h"

namespace reef::cli {
namespace {

json::object to_json(const protocol::SessionRow& row) {
  return json::object{
      {"id", row.id()},
      {"key", row.key()},
      {"agent", row.agent()},
      {"sender", row.sender()},
      {"title", row.title()},
      {"preview", row.preview()},
      {"messageCount", row.message_count()},
      {"createdAt", row.created_at()},
      {"updatedAt", row.updated_at()},
      {"bytes", row.bytes()},
  };
}

// What a person sees of a name somebody else chose.
std::string shown(std::string_view text) {
  return utf8::single_line(utf8::printable(text));
}

Task<Status> sessions(const Context& context, client::Client& client) {
  REEF_CO_TRY(const auto rows, co_await client.sessions());
  if (context.json) {
    json::array out;
    for (const auto& row : rows) out.push_back(to_json(row));
    print_json(out);
    co_return Ok{};
  }
  if (rows.empty()) {
    print_line("no sessions yet; say something: reef chat");
    co_return Ok{};
  }
  std::size_t id_width = 0;
  for (const auto& row : rows) id_width = std::max(id_width, row.id().size());
  const auto now = SystemClock().now();
  for (const auto& row : rows) {
    const auto updated = parse_iso(row.updated_at()).value_or(now);
    const auto what = shown(row.title().empty() ? row.preview() : row.title());
    print_line(fmt::format("{:<{}}  {:>5} messages  {:>5} ago  {}  {}", row.id(), id_width,
                           row.message_count(), short_age(updated, now), shown(row.key()),
                           utf8::prefix_chars(what, 60)));
  }
  co_return Ok{};
}

void print_entry(const Context& context, const session::Entry& entry) {
  const auto message = session::message_of(entry);
  if (!message) return;
  const auto role = session::role_of(*message);
  const auto bold = context.color() ? "\x1b[1m" : "";
  const auto plain = context.color() ? "\x1b[0m" : "";
  std::string note;
  if (const auto* reply = std::get_if<session::AssistantMessage>(&*message)) {
    note = fmt::format(", {}/{}", reply->provider, reply->model);
    if (!reply->error_message.empty())
      note += fmt::format(", {}: {}", name_of(reply->stop_reason), reply->error_message);
  }
  print_line(
      fmt::format("{}{}{} ({}{})", bold, shown(role), plain, format_iso(entry.time), shown(note)));
  print_line(utf8::printable(session::text_of(*message)));
  print_line("");
}

Task<Status> show(const Context& context, client::Client& client, std::string id) {
  REEF_CO_TRY(const auto found, co_await client.read_session(std::move(id)));
  auto reading = session::read_transcript(found.bytes);
  if (context.json) {
    json::array entries;
    for (auto& entry : reading.entries) entries.push_back(std::move(entry.body));
    print_json(json::object{
        {"session", to_json(found.row)},
        {"header", reading.header ? json::value(reading.header->body) : json::value(nullptr)},
        {"entries", std::move(entries)}});
    co_return Ok{};
  }
  print_line(fmt::format("{}  {}  {} messages", found.row.id(), shown(found.row.key()),
                         found.row.message_count()));
  if (!reading.damage.empty())
    print_line(fmt::format("note: {} damaged line(s) in the file", reading.damage.size()));
  print_line("");
  for (const auto& entry : reading.entries) print_entry(context, entry);
  co_return Ok{};
}

}  // namespace

int run_sessions(const Context& context) {
  return with_client(context, "sessions", Start::if_needed,
                     [&](client::Client& client) { return sessions(context, client); });
}

int run_show(const Context& context, const std::string& id) {
  return with_client(context, "show", Start::if_needed,
                     [&](client::Client& client) { return show(context, client, id); });
}

}  // namespace reef::cli
