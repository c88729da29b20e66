// new, resume, fork, rewind, set, label, rm, restore, fsck: change sessions.

#include <unistd.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "commands.h"
#include "session/metadata.h"

namespace reef::cli {
namespace {

// A model may have to read everything that is left behind.
constexpr std::chrono::minutes kSummaryPatience{30};

// Sends a request that is answered with a session; `said` is printed for a person, with its id.
Task<Status> change(const Context& context, client::Client& client, protocol::ClientMessage message,
                    std::string said) {
  std::optional<std::chrono::milliseconds> patience;
  if (message.rewind_session().summarize()) patience = kSummaryPatience;
  REEF_CO_TRY(const auto row, co_await client.change_session(std::move(message), patience));
  if (context.json) {
    REEF_CO_TRY(const auto details, json::parse(row.details()));
    print_json(details);
  } else {
    print_line(fmt::format(fmt::runtime(said), row.id()));
  }
  co_return Ok{};
}

int run_change(const Context& context, std::string_view command, protocol::ClientMessage message,
               std::string said) {
  return with_client(context, command, Start::if_needed, [&](client::Client& client) {
    return change(context, client, std::move(message), std::move(said));
  });
}

// Sends a request that is answered with Pong.
Task<Status> simple(const Context& context, client::Client& client, protocol::ClientMessage message,
                    std::string said) {
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), client::Client::Repeat::never,
                                      std::chrono::seconds(30)));
  static_cast<void>(answer);
  if (context.json) {
    print_json(json::object{{"ok", true}});
  } else {
    print_line(said);
  }
  co_return Ok{};
}

// The changes that the words of `set` ask for.
struct FieldChanges {
  json::object patch;
  std::vector<std::string> add_labels, remove_labels;
};

void take_labels(std::vector<std::string>& into, std::string_view list) {
  while (!list.empty()) {
    const auto end = list.find(',');
    if (end != 0) into.emplace_back(list.substr(0, end));
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
}

Status take_field(FieldChanges& changes, std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos)
    return Error(Errc::invalid,
                 fmt::format("'{}' must look like field=value", utf8::excerpt(word)));
  const auto name = word.substr(0, equals);
  const auto value = word.substr(equals + 1);
  if (name == "labels+" || name == "labels-") {
    take_labels(name.back() == '+' ? changes.add_labels : changes.remove_labels, value);
    return Ok{};
  }
  REEF_TRY(const auto part, session::patch_from_text(name, value));
  for (const auto& [field, change] : part) changes.patch[field] = change;
  return Ok{};
}

template <class Request>
void fill(Request& out, const FieldChanges& changes) {
  const bool labels = !changes.add_labels.empty() || !changes.remove_labels.empty();
  if (!changes.patch.empty() || !labels) out.set_patch(json::write(changes.patch));
  for (const auto& label : changes.add_labels) out.add_add_labels(label);
  for (const auto& label : changes.remove_labels) out.add_remove_labels(label);
}

Task<Status> fsck(const Context& context, client::Client& client, bool repair) {
  protocol::ClientMessage message;
  message.mutable_check_sessions()->set_repair(repair);
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  json::array problems;
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Error(Errc::unavailable, "the check ended early");
    const auto& report = answer->check_report();
    if (!report.last()) {
      if (!context.json)
        print_line(fmt::format("{}: line {}: {}: {}{}", report.id(), report.line(), report.kind(),
                               shown(report.what()), report.repaired() ? " (repaired)" : ""));
      problems.push_back(json::object{{"id", report.id()},
                                      {"kind", report.kind()},
                                      {"line", report.line()},
                                      {"offset", report.offset()},
                                      {"what", report.what()},
                                      {"repaired", report.repaired()}});
      continue;
    }
    if (context.json) {
      print_json(json::object{{"sessions", report.sessions()}, {"problems", problems}});
    } else {
      print_line(fmt::format(
          "{} session(s) checked, {} problem(s){}", report.sessions(), report.problems(),
          repair || report.problems() == 0 ? "" : "; reef fsck --repair mends what can be"));
    }
    if (report.problems() > 0 && !repair)
      co_return Error(Errc::corrupt, fmt::format("{} problem(s) found", report.problems()));
    co_return Ok{};
  }
}

}  // namespace

int run_new(const Context& context, const std::string& agent, const std::string& sender,
            const std::optional<std::string>& key) {
  protocol::ClientMessage message;
  auto& request = *message.mutable_new_session();
  request.set_agent(agent);
  request.set_sender(sender);
  if (key) request.set_key(*key);
  char cwd[4096];
  if (::getcwd(cwd, sizeof cwd)) request.set_cwd(utf8::sanitize(cwd));
  return run_change(context, "new", std::move(message), "{}");
}

int run_resume(const Context& context, const std::string& id,
               const std::optional<std::string>& key) {
  protocol::ClientMessage message;
  message.mutable_resume_session()->set_id(id);
  if (key) message.mutable_resume_session()->set_key(*key);
  return run_change(context, "resume", std::move(message), "{} is current again");
}

int run_fork(const Context& context, const std::string& id, const std::string& at) {
  protocol::ClientMessage message;
  message.mutable_fork_session()->set_id(id);
  message.mutable_fork_session()->set_at(at);
  return run_change(context, "fork", std::move(message), "{}");
}

int run_rewind(const Context& context, const protocol::RewindSession& request) {
  protocol::ClientMessage message;
  *message.mutable_rewind_session() = request;
  return run_change(context, "rewind", std::move(message), "{} rewound");
}

int run_set(const Context& context, const std::vector<std::string>& words,
            const Selection& selection) {
  const bool many = selection.given();
  const auto wrong = [](const Error& error) {
    report("set", error);
    return 2;
  };
  if (words.size() < (many ? 1U : 2U))
    return wrong(
        Error(Errc::invalid, many ? "say what to change: field=value"
                                  : "say which session and what to change: ID field=value"));
  FieldChanges changes;
  for (auto at = words.begin() + (many ? 0 : 1); at != words.end(); ++at) {
    const auto taken = take_field(changes, *at);
    if (!taken) return wrong(taken.error());
  }
  protocol::ClientMessage message;
  if (many) {
    fill(*message.mutable_patch_sessions(), changes);
    return run_bulk(context, "set", std::move(message), selection);
  }
  message.mutable_patch_session()->set_id(words[0]);
  fill(*message.mutable_patch_session(), changes);
  return run_change(context, "set", std::move(message), "{} changed");
}

int run_label(const Context& context, const std::string& id, const std::string& entry,
              const std::string& text) {
  protocol::ClientMessage message;
  message.mutable_label_entry()->set_id(id);
  message.mutable_label_entry()->set_entry(entry);
  message.mutable_label_entry()->set_label(text);
  return run_change(context, "label", std::move(message), "{} changed");
}

int run_rm(const Context& context, const std::optional<std::string>& id,
           const Selection& selection) {
  protocol::ClientMessage message;
  if (selection.given() == id.has_value()) {
    report("rm",
           Error(Errc::invalid, "name one session by its id, or several by --where or --view"));
    return 2;
  }
  if (selection.given()) {
    message.mutable_trash_sessions();
    return run_bulk(context, "rm", std::move(message), selection);
  }
  message.mutable_trash_session()->set_id(*id);
  const auto said = "moved to the trash; reef restore " + *id + " brings it back";
  return with_client(context, "rm", Start::if_needed, [&](client::Client& client) {
    return simple(context, client, message, said);
  });
}

int run_restore(const Context& context, const std::string& id) {
  protocol::ClientMessage message;
  message.mutable_restore_session()->set_id(id);
  return with_client(context, "restore", Start::if_needed, [&](client::Client& client) {
    return simple(context, client, message, "restored");
  });
}

int run_fsck(const Context& context, bool repair) {
  return with_client(context, "fsck", Start::if_needed,
                     [&](client::Client& client) { return fsck(context, client, repair); });
}

}  // namespace reef::cli
