// The commands of `reef`, one function each; they return the exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "context.h"

namespace reef::cli {

struct ChatOptions {
  std::string agent;
  std::string sender;
  std::optional<std::string> message;  // -p: one turn
  std::optional<std::string> key;      // instead of agent and sender
  std::string command = "chat";        // the command's name, for errors
  std::string queue;                   // what to do while a turn runs; empty: as configured
  std::string guest = {};              // the agent that answers, in the agent's conversation
};
int run_chat(const Context& context, const ChatOptions& options);
// Shows the turn that runs, from its beginning.
int run_read_along(const Context& context, const ChatOptions& options);

int run_ping(const Context& context);
int run_status(const Context& context);
int run_session_status(const Context& context, const std::string& id);
struct SessionsOptions {
  protocol::ListSessions query;
  bool trash = false;
  bool follow = false;
};
int run_sessions(const Context& context, const SessionsOptions& options);

enum class View : std::uint8_t { branch, all, tree, raw };
int run_show(const Context& context, const std::string& id, View view);
int run_new(const Context& context, const std::string& agent, const std::string& sender,
            const std::optional<std::string>& key);
int run_resume(const Context& context, const std::string& id,
               const std::optional<std::string>& key);
int run_compact(const Context& context, const protocol::Compact& request);
int run_fork(const Context& context, const std::string& id, const std::string& at);
int run_rewind(const Context& context, const protocol::RewindSession& request);
// The sessions a command applies to, when none is given by its id.
struct Selection {
  std::string view, where;
  bool yes = false;

  bool given() const { return !view.empty() || !where.empty(); }
};
// `words` are FIELD=VALUE, LABELS+=... or LABELS-=...; without a selection the first is the id.
int run_set(const Context& context, const std::vector<std::string>& words,
            const Selection& selection);
int run_label(const Context& context, const std::string& id, const std::string& entry,
              const std::string& text);
int run_rm(const Context& context, const std::optional<std::string>& id,
           const Selection& selection);
int run_restore(const Context& context, const std::string& id);
int run_fsck(const Context& context, bool repair);
int run_attach(const Context& context, const std::string& id,
               const std::vector<std::string>& files);
int run_files(const Context& context, const protocol::ListFiles& query);
int run_cat(const Context& context, const std::string& id, const std::string& path);
int run_gc(const Context& context, const protocol::CollectGarbage& request);
int run_usage(const Context& context, const protocol::GetUsage& request);
struct ExportOptions {
  std::string format;
  std::vector<std::string> ids;     // the last may be a path instead
  bool all = false;                 // instead of ids
  std::string where;                // a filter instead of ids
  std::optional<std::string> path;  // none: standard output
  bool force = false;               // replace existing files
};
int run_export(const Context& context, ExportOptions options);
struct ImportOptions {
  std::string kind;  // or "auto"
  std::string path;
  bool redact = false;
  bool dry_run = false;
  bool yes = false;
  bool keys = false;
};
int run_import(const Context& context, const ImportOptions& options);
int run_backup(const Context& context, const std::string& path, bool force);
int run_restore_backup(const Context& context, const std::string& path, bool merge);
// statuses, labels, views: sends a request that is answered with one of the lists. `said` is
// printed for a person after a change; when it is empty, the list is printed.
int run_definitions(const Context& context, const std::string& command,
                    const protocol::ClientMessage& message, const std::string& said);
// set and rm for many sessions: counts, asks, and then does it. The message is a PatchSessions or
// TrashSessions.
int run_bulk(const Context& context, const std::string& command, protocol::ClientMessage message,
             const Selection& selection);
struct SearchOptions {
  std::string query;
  bool from_stdin = false;
  bool by_session = false;
  std::uint32_t limit = 0, offset = 0;
  std::optional<std::uint32_t> before, after;
  std::string agent, sender, exclude;
};
int run_search(const Context& context, const SearchOptions& options);
int run_reload(const Context& context);
int run_stop(const Context& context);

// Prints the status as `reef status` does; `reef chat` with an empty stdin prints it, too.
Task<Status> print_status(const Context& context, client::Client& client);

}  // namespace reef::cli
