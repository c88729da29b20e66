// statuses, labels, views, and set and rm for many sessions.

#include <algorithm>
#include <cstdio>
#include <map>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"

namespace reef::cli {
namespace {

// Tells about problems of a file on stderr; stdout stays as it would be.
template <class List>
void warn_of(const std::string& command, const List& list) {
  for (const auto& problem : list.problems())
    std::fprintf(stderr, "reef: %s: %s; the last good one is used\n", command.c_str(),
                 shown(problem).c_str());
}

// Columns of texts, each as wide as its widest; the last one is not padded.
void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  const auto width = [](std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
  };
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    while (line.ends_with(' ')) line.pop_back();
    print_line(line);
  }
}

json::array to_json(const protocol::StatusList& list) {
  json::array out;
  for (const auto& status : list.statuses())
    out.push_back(json::object{{"id", status.id()},
                               {"label", status.label()},
                               {"category", status.category()},
                               {"color", status.color()},
                               {"icon", status.icon()},
                               {"fixed", status.fixed()},
                               {"sessions", status.sessions()}});
  return out;
}

json::array to_json(const protocol::LabelList& list) {
  json::array out;
  for (const auto& label : list.labels()) {
    json::array rules;
    for (const auto& rule : label.rules())
      rules.push_back(json::object{{"pattern", rule.pattern()}, {"value", rule.value()}});
    out.push_back(json::object{{"id", label.id()},
                               {"name", label.name()},
                               {"parent", label.parent()},
                               {"type", label.type()},
                               {"color", label.color()},
                               {"sessions", label.sessions()},
                               {"rules", std::move(rules)}});
  }
  return out;
}

json::array to_json(const protocol::ViewList& list) {
  json::array out;
  for (const auto& view : list.views())
    out.push_back(json::object{{"id", view.id()},
                               {"name", view.name()},
                               {"filter", view.filter()},
                               {"builtin", view.builtin()},
                               {"sessions", view.sessions()}});
  return out;
}

void print(const protocol::StatusList& list) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& status : list.statuses())
    rows.push_back({shown(status.icon()), status.id(), shown(status.label()), status.category(),
                    fmt::format("{} session(s)", status.sessions()),
                    status.fixed() ? "always there" : ""});
  print_table(rows);
}

void print(const protocol::LabelList& list) {
  if (list.labels().empty()) print_line("no labels; the first one: reef labels add ID");
  std::vector<std::vector<std::string>> rows;
  std::map<std::string, std::size_t> depths;
  for (const auto& label : list.labels()) {
    const auto depth = label.parent().empty() ? 0 : depths[label.parent()] + 1;
    depths[label.id()] = depth;
    const std::string indent(depth * 2, ' ');
    rows.push_back({indent + label.id(), shown(label.name()), label.type(),
                    fmt::format("{} session(s)", label.sessions())});
    for (const auto& rule : label.rules())
      rows.push_back({indent + "  rule " + shown(rule.pattern()) +
                      (rule.value().empty() ? "" : " -> " + shown(rule.value()))});
  }
  print_table(rows);
}

void print(const protocol::ViewList& list) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& view : list.views())
    rows.push_back({view.id(), shown(view.name()), fmt::format("{} session(s)", view.sessions()),
                    shown(view.filter())});
  print_table(rows);
}

template <class List>
void answer(const Context& context, const std::string& command, const List& list,
            const std::string& said) {
  if (context.json) {
    print_json(to_json(list));
  } else if (!said.empty()) {
    print_line(shown(said));
  } else {
    print(list);
  }
  std::fflush(stdout);
  warn_of(command, list);
}

Task<Status> definitions(const Context& context, client::Client& client, std::string command,
                         protocol::ClientMessage message, std::string said) {
  const auto repeat = said.empty() ? client::Client::Repeat::safe : client::Client::Repeat::never;
  REEF_CO_TRY(const auto got,
              co_await client.request(std::move(message), repeat, std::chrono::seconds(30)));
  if (got.has_status_list()) {
    answer(context, command, got.status_list(), said);
  } else if (got.has_label_list()) {
    answer(context, command, got.label_list(), said);
  } else {
    answer(context, command, got.view_list(), said);
  }
  co_return Ok{};
}

// Calls `f` with the part that both bulk requests share.
template <class F>
void with_selected(protocol::ClientMessage& message, F f) {
  if (message.has_patch_sessions()) {
    f(*message.mutable_patch_sessions());
  } else {
    f(*message.mutable_trash_sessions());
  }
}

struct Bulk {
  std::uint64_t matched = 0, changed = 0;
  json::array failed;
};

Task<Result<Bulk>> run_once(client::Client& client, protocol::ClientMessage message) {
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  Bulk out;
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Error(Errc::unavailable, "the change ended early");
    const auto& part = answer->bulk_report();
    out.matched = part.matched();
    out.changed = part.changed();
    for (const auto& failure : part.failed())
      out.failed.push_back(json::object{{"id", failure.id()}, {"why", failure.why()}});
    if (part.last()) co_return out;
  }
}

void print(const Context& context, const std::string& command, const Bulk& bulk) {
  if (context.json) {
    print_json(json::object{
        {"matched", bulk.matched}, {"changed", bulk.changed}, {"failed", bulk.failed}});
    return;
  }
  if (bulk.matched == 0) {
    print_line("no session matches");
    return;
  }
  print_line(fmt::format("{} of {} session(s) {}", bulk.changed, bulk.matched,
                         command == "rm" ? "moved to the trash" : "changed"));
}

bool asked(const std::string& question) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::fflush(stderr);
  char answer[16] = {};
  if (!std::fgets(answer, sizeof answer, stdin)) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

// `refused` becomes true when nothing was changed because the user did not agree.
Task<Status> bulk(const Context& context, client::Client& client, std::string command,
                  protocol::ClientMessage message, bool yes, bool& refused) {
  if (!yes) {
    auto count = message;
    with_selected(count, [](auto& request) { request.set_dry_run(true); });
    REEF_CO_TRY(const auto dry, co_await run_once(client, std::move(count)));
    if (dry.matched > 0) {
      const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
      const auto what = command == "rm" ? "move to the trash" : "change";
      if (!terminal || !asked(fmt::format("{} session(s) match; {} them?", dry.matched, what))) {
        refused = true;
        if (context.json) print(context, command, dry);
        co_return Error(Errc::invalid,
                        terminal ? "nothing was changed"
                                 : fmt::format("{} session(s) match; --yes does it, nothing was "
                                               "changed",
                                               dry.matched));
      }
    }
    with_selected(message, [&](auto& request) { request.set_expected(dry.matched); });
  }
  REEF_CO_TRY(const auto done, co_await run_once(client, std::move(message)));
  print(context, command, done);
  if (done.failed.empty()) co_return Ok{};
  const auto& first = done.failed.front().as_object();
  co_return Error(Errc::internal,
                  fmt::format("{} session(s) failed; the first, {}: {}", done.failed.size(),
                              std::string_view(first.at("id").as_string()),
                              std::string_view(first.at("why").as_string())));
}

}  // namespace

int run_definitions(const Context& context, const std::string& command,
                    const protocol::ClientMessage& message, const std::string& said) {
  return with_client(context, command, Start::if_needed, [&](client::Client& client) {
    return definitions(context, client, command, message, said);
  });
}

int run_bulk(const Context& context, const std::string& command, protocol::ClientMessage message,
             const Selection& selection) {
  with_selected(message, [&](auto& request) {
    request.set_view(selection.view);
    request.set_where(selection.where);
  });
  bool refused = false;
  const int code = with_client(context, command, Start::if_needed, [&](client::Client& client) {
    return bulk(context, client, command, message, selection.yes, refused);
  });
  return refused ? 2 : code;
}

}  // namespace reef::cli
