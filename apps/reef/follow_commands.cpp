// sessions --follow, tail: what changes while one looks. Both survive a daemon that restarts.

#include "follow_commands.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "client/following.h"
#include "session/message.h"
#include "session/reader.h"

namespace reef::cli {

json::value details(const protocol::SessionRow& row) {
  auto parsed = json::parse(row.details());
  return parsed ? *std::move(parsed) : json::value(nullptr);
}

std::string line_of(const protocol::SessionRow& row, TimePoint now, std::size_t id_width) {
  const auto updated = parse_iso(row.updated_at()).value_or(now);
  const auto what = shown(row.title().empty() ? row.preview() : row.title());
  return fmt::format("{:<{}}  {:>5} messages  {:>5} ago  {}  {}", row.id(), id_width,
                     row.message_count(), short_age(updated, now), shown(row.key()),
                     utf8::prefix_chars(what, 60));
}

void print_entry(const Context& context, const session::Entry& entry, Part part) {
  const auto bold = context.color() ? "\x1b[1m" : "";
  const auto plain = context.color() ? "\x1b[0m" : "";
  const auto head = [&](std::string_view who, std::string_view note) {
    print_line(fmt::format("{}{}{} [{}] ({}{})", bold, shown(who), plain, shown(entry.id.text),
                           format_iso(entry.time), shown(note)));
  };
  if (const auto message = session::message_of(entry)) {
    std::string note;
    if (const auto* reply = std::get_if<session::AssistantMessage>(&*message)) {
      note = fmt::format(", {}/{}", reply->provider, reply->model);
      if (!reply->agent.empty()) note += ", guest " + reply->agent;
      if (!reply->error_message.empty())
        note += fmt::format(", {}: {}", name_of(reply->stop_reason), reply->error_message);
    }
    if (session::is_hidden(*message)) note += ", hidden";
    head(session::role_of(*message), note);
    if (part == Part::whole) print_line(utf8::visible(session::text_of(*message)));
    print_line("");
  } else if (entry.type == "compaction" || entry.type == "branch_summary") {
    head(entry.type, "");
    print_line(utf8::visible(json::find_string(entry.body, "summary").value_or("")));
    print_line("");
  }
}

Task<Status> follow_sessions(const Context& context, client::Client& client,
                             protocol::ListSessions query) {
  constexpr std::size_t kIdWidth = 24;
  protocol::ClientMessage request;
  *request.mutable_follow_sessions()->mutable_query() = std::move(query);
  client::Following following(client, std::move(request));
  for (bool first = true;; first = false) {
    REEF_CO_TRY(const auto answer, co_await following.next());
    if (!answer) co_return Ok{};
    const auto& news = answer->sessions_news();
    const auto& why = news.place().start_over();
    if (!why.empty() && context.json) print_json(json::object{{"startOver", why}});
    if (!why.empty() && !first && !context.json)
      print_line(fmt::format("--- from the beginning: {}", shown(why)));
    const auto now = SystemClock().now();
    for (const auto& row : news.sessions()) {
      if (context.json) {
        print_json(json::object{{"session", details(row)}});
      } else {
        print_line(line_of(row, now, kIdWidth));
      }
    }
    for (const auto& id : news.left()) {
      if (context.json) {
        print_json(json::object{{"left", id}});
      } else {
        print_line(fmt::format("{:<{}}  is not in the list", shown(id), kIdWidth));
      }
    }
    std::fflush(stdout);
    if (std::ferror(stdout)) co_return Ok{};
  }
}

namespace {

// Prints whole lines of a transcript as they come, and what is said before it is one.
class TailPrinter {
 public:
  explicit TailPrinter(const Context& context) : context_(context) {}

  // The file itself, from its beginning.
  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      print(bytes.substr(0, end));
      if (end == std::string_view::npos) break;
      bytes.remove_prefix(end + 1);
    }
    std::fflush(stdout);
  }

  void take(const protocol::EntriesNews& news) {
    if (!news.place().start_over().empty()) told_ = {};
    for (const auto& entry : news.entries()) {
      if (entry.json().empty()) {
        end_live();
        std::fprintf(stderr, "reef: tail: entry %s is too long to be shown (%llu bytes)\n",
                     shown(entry.id()).c_str(), static_cast<unsigned long long>(entry.bytes()));
      } else {
        print(entry.json());
      }
    }
    if (news.live_over()) end_live();
    for (const auto& event : news.live()) say(event);
    std::fflush(stdout);
  }

 private:
  void say(const protocol::StreamEvent& event) {
    if (context_.json) {
      auto out = live_json(event);
      if (!out.empty()) print_json(json::object{{"live", std::move(out)}});
    } else if (event.has_chunk()) {
      say_text(event.chunk().content());
    } else if (event.has_tool_start()) {
      end_line();
      for (const auto& call : event.tool_start().calls())
        print_line(fmt::format("({} ...)", shown(call.name())));
    } else if (event.has_end()) {
      end_live();
    }
  }

  void say_text(std::string_view text) {
    told_ += text;
    std::fputs(utf8::visible(text).c_str(), stdout);
  }

  static json::object live_json(const protocol::StreamEvent& event) {
    if (event.has_start()) return {{"event", "start"}, {"agent", event.start().agent()}};
    if (event.has_chunk()) return {{"event", "text"}, {"text", event.chunk().content()}};
    if (event.has_thinking()) return {{"event", "thinking"}, {"text", event.thinking().content()}};
    if (event.has_tool_progress())
      return {{"event", "tool_progress"},
              {"callId", event.tool_progress().call_id()},
              {"text", event.tool_progress().output()}};
    if (event.has_tool_result())
      return {{"event", "tool_result"},
              {"callId", event.tool_result().call_id()},
              {"isError", event.tool_result().is_error()}};
    if (event.has_end()) return {{"event", "end"}, {"error", event.end().error()}};
    if (!event.has_tool_start()) return {};
    json::array calls;
    for (const auto& call : event.tool_start().calls())
      calls.push_back(json::object{{"callId", call.call_id()}, {"name", call.name()}});
    return {{"event", "tool_start"}, {"calls", std::move(calls)}};
  }

  void end_line() {
    if (!told_.empty() && !told_.ends_with('\n') && !context_.json) std::fputc('\n', stdout);
  }
  void end_live() {
    end_line();
    told_.clear();
  }

  void print(std::string_view line) {
    if (context_.json) {
      print_line(line);
      return;
    }
    auto parsed = json::parse_lenient(line);
    if (!parsed || !parsed->is_object()) return;
    const auto entry = session::entry_from(std::move(parsed->get_object()));
    if (!entry) return;
    // Words that were just seen are not said twice: only what they lack, and their entry.
    const auto message = session::message_of(*entry);
    const auto text = message && session::role_of(*message) == "assistant"
                          ? session::text_of(*message)
                          : std::string();
    const bool seen = !told_.empty() && text.starts_with(told_);
    if (seen) say_text(text.substr(told_.size()));
    end_live();
    print_entry(context_, *entry, seen ? Part::head : Part::whole);
  }

  const Context& context_;
  std::string told_;  // live text that no entry has taken the place of
};

// Returns the id of the last entry there is; entries behind it are news.
std::string last_entry_of(std::string_view bytes) {
  const auto reading = session::read_transcript(bytes);
  return reading.entries.empty() ? std::string() : reading.entries.back().id.text;
}

Task<Status> tail(const Context& context, client::Client& client, TailOptions options) {
  TailPrinter printer(context);
  protocol::ClientMessage request;
  auto& what = *request.mutable_follow_entries();
  what.set_id(options.id);
  what.set_live(options.live);
  if (options.last && !options.follow) {
    protocol::ClientMessage page;
    page.mutable_read_session()->set_id(options.id);
    page.mutable_read_session()->set_limit(*options.last);
    REEF_CO_TRY(const auto answer,
                co_await client.request(std::move(page), client::Client::Repeat::safe, kAnswerMax));
    protocol::EntriesNews news;
    *news.mutable_entries() = answer.session_data().entries();
    printer.take(news);
    co_return Ok{};
  }
  if (options.last) {
    what.set_last(*options.last);
  } else {
    REEF_CO_TRY(const auto found, co_await client.read_session(options.id));
    printer.take(found.bytes);
    if (!options.follow) co_return Ok{};
    what.set_after(last_entry_of(found.bytes));
  }
  client::Following following(client, std::move(request));
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await following.next());
    if (!answer) co_return Ok{};
    printer.take(answer->entries_news());
    if (!answer->entries_news().gone().empty())
      co_return Error(Errc::not_found, answer->entries_news().gone());
    if (std::ferror(stdout)) co_return Ok{};
  }
}

}  // namespace

int run_tail(const Context& context, const TailOptions& options) {
  return with_client(context, "tail", Start::if_needed,
                     [&](client::Client& client) { return tail(context, client, options); });
}

}  // namespace reef::cli
