#include "hooks/os/os_hook.h"

#include <algorithm>
#include <cstdlib>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/os/environment.h"
#include "shell/shell.h"

namespace reef::hooks {
namespace {

using runtime::Caller;
using runtime::Intent;
using runtime::ToolAnswer;

// The model is shown a tenth of what it can hold, within these limits; a token is about four bytes.
constexpr std::int64_t kShownTokensMin = 2'000, kShownTokensMax = 12'000;
constexpr std::int64_t kBytesAToken = 4;

std::size_t shown_bytes(std::int64_t window) {
  const auto tokens =
      window <= 0 ? kShownTokensMax : std::clamp(window / 10, kShownTokensMin, kShownTokensMax);
  return static_cast<std::size_t>(tokens * kBytesAToken);
}

bool is_folder(const std::string& path) {
  struct ::stat info = {};
  return path.starts_with('/') && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Only these variables of the daemon's environment reach a command: the others may hold keys.
constexpr const char* kPassed[] = {"PATH",     "HOME",   "USER",     "LOGNAME", "SHELL", "LANG",
                                   "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ",      "TMPDIR"};

// These variables can make a command do something else than it says.
bool changes_meaning(std::string_view name) {
  for (const std::string_view one : {"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4"})
    if (name == one) return true;
  return name.starts_with("BASH_FUNC_") || name.starts_with("LD_") || name.starts_with("GIT_");
}

std::map<std::string, std::string> environment_for(const runtime::Agent& agent) {
  std::map<std::string, std::string> out{{"TERM", "dumb"},
                                         {"PAGER", "cat"},
                                         {"GIT_PAGER", "cat"},
                                         {"GIT_TERMINAL_PROMPT", "0"},
                                         {"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  const auto pass = [&](const char* name) {
    if (const char* value = std::getenv(name)) out[name] = value;
  };
  for (const auto* name : kPassed) pass(name);
  for (const auto& name : agent.pass_env)
    if (!changes_meaning(name)) pass(name.c_str());
  return out;
}

bool may_run_bash(const Caller& caller) {
  return caller.local || caller.agent.remote_bash;
}

// The files that "always" covers: everything below the working directory, or only the file's folder
// where that would be too much. Nothing in .git, whose hooks and settings name programs; nor hidden
// files of the user's home such as ~/.bashrc, which programs read by themselves, unless the
// conversation works there.
std::string folder_rule(const os::PathRules& paths, const std::string& path) {
  const auto hidden = paths.user_home + (paths.user_home.ends_with('/') ? "." : "/.");
  if (path.starts_with(hidden) && !(paths.cwd.starts_with(hidden) && os::within(paths.cwd, path)))
    return {};
  if (path.find("/.git/") != std::string::npos || path.ends_with("/.git")) return {};
  const bool broad = paths.cwd == "/" || paths.cwd == paths.user_home;
  if (!broad && os::within(paths.cwd, path)) return utf8::sanitize(paths.cwd) + "/**";
  const auto slash = path.rfind('/');
  return utf8::sanitize(path.substr(0, slash)) + "/*";
}

// The commands that "always" covers: a kind where the judge knows one, else exactly this command
// here.
void set_rule(Intent& intent, const shell::Judgement& judged, const std::string& command,
              const std::string& cwd) {
  if (!judged.rule.empty()) {
    intent.rule = judged.rule;
    intent.covers =
        fmt::format("'{}' with whatever words cannot name another program", judged.rule);
  } else if (judged.repeatable && utf8::valid(cwd) && utf8::valid(command)) {
    intent.rule = fmt::format("exactly, in {}: {}", cwd, command);
    intent.covers = fmt::format("this very command, in {}", cwd);
  }
}

}  // namespace

OsHook::OsHook(Needs needs) : needs_(std::move(needs)), claims_(needs_.loop) {
  // Paths are compared without links, so this one must have none.
  if (const auto real = os::resolve({.cwd = "/"}, needs_.reef_home)) needs_.reef_home = *real;
}

std::vector<model::Tool> OsHook::tools(const runtime::Agent&) const {
  std::vector<model::Tool> out;
  for (const auto* description : {&os::kBash, &os::kRead, &os::kWrite, &os::kEdit, &os::kLs,
                                  &os::kGlob, &os::kGrep, &os::kSubmitPlan})
    out.push_back(tool_from(*description));
  return out;
}

std::string OsHook::prompt(const runtime::Agent&) const {
  return "<files>\n"
         "- Relative paths begin at the working directory of the conversation; bash starts there "
         "every time.\n"
         "- Look with read, ls, glob and grep rather than with bash. Change files with edit, or "
         "write for new ones; read a file before you change it.\n"
         "- What changes something may need the user's permission. When a call is refused, do not "
         "try the same another way: say what you wanted, or hand in a plan with submit_plan.\n"
         "</files>";
}

Task<std::string> OsHook::instructions(const runtime::Agent& agent,
                                       const runtime::Place& place) const {
  const bool outsider = !place.local && !agent.remote_bash;
  auto folder = is_folder(place.cwd) ? place.cwd : outsider ? std::string() : needs_.user_home;
  co_return os::environment_block(folder, needs_.clock.now());
}

os::PathRules OsHook::ground_of(const Caller& caller) const {
  os::PathRules out;
  out.user_home = needs_.user_home;
  out.reef_home = needs_.reef_home;
  out.session = needs_.reef_home + "/sessions/" + caller.session.text();
  out.cwd = caller.cwd;
  const auto* row = needs_.sessions.find(caller.session);
  if (out.cwd.empty() && row) {
    // The directory may be one of another machine. The folder the session began in does not count:
    // each message has its own.
    const auto set = std::string(row->text("workingDirectory"));
    if (is_folder(set)) out.cwd = set;
  }
  const bool outsider = !may_run_bash(caller);
  if (out.cwd.empty()) out.cwd = outsider ? out.session : needs_.user_home;
  if (const auto real = os::resolve(out, out.cwd)) out.cwd = *real;
  if (outsider) out.confined = out.cwd;
  return out;
}

os::CallNeeds OsHook::desk_for(const Caller& caller) {
  const auto window = needs_.context_window ? needs_.context_window(caller) : 0;
  return os::CallNeeds{needs_.loop,  needs_.pool,       needs_.documents, seen_,
                       claims_,      ground_of(caller), caller.session,   shown_bytes(window),
                       needs_.umask, needs_.clock.now()};
}

Intent OsHook::intent(const std::string& tool, const json::object& arguments,
                      const Caller& caller) const {
  using Effect = Intent::Effect;
  if (tool == os::kBash.name) {
    const auto command = text_of(arguments, "command");
    Intent out{Effect::changes, command, {}, {}};
    // The call itself refuses every command of such a caller.
    if (!may_run_bash(caller)) out.effect = Effect::reads;
    if (!may_run_bash(caller)) return out;
    auto judged = shell::judge(command);
    switch (judged.effect) {
      case shell::Judgement::Effect::reads:
        out.effect = Effect::reads;
        break;
      case shell::Judgement::Effect::changes:
        out.effect = Effect::changes;
        break;
      case shell::Judgement::Effect::dangerous:
        out.effect = Effect::dangerous;
        break;
    }
    set_rule(out, judged, command, ground_of(caller).cwd);
    out.reason = std::move(judged.reason);
    return out;
  }
  if (tool == os::kWrite.name || tool == os::kEdit.name) {
    // This short look at the disk on the loop makes sure that the user is asked about the file that
    // changes.
    const auto paths = ground_of(caller);
    const auto path = os::resolve_to_write(paths, text_of(arguments, "path"));
    // The call will probably fail with this reason; but the path may lead elsewhere by then.
    if (!path) return {Effect::changes, text_of(arguments, "path"), {}, path.error().what};
    // A plan is text for the user, in a file that nobody runs.
    if (os::is_plan(paths, *path)) return {Effect::reads, *path, {}, {}};
    return {Effect::changes, utf8::sanitize(*path), folder_rule(paths, *path), "it changes a file"};
  }
  // The other tools only read, and submit_plan writes a plan.
  return {Effect::reads, text_of(arguments, "path"), {}, {}};
}

bool OsHook::keeps(const std::string& tool) const {
  return tool == os::kWrite.name || tool == os::kEdit.name || tool == os::kSubmitPlan.name;
}

Task<ToolAnswer> OsHook::call(std::string tool, json::object arguments, Caller caller) {
  const auto needs = desk_for(caller);
  if (tool == os::kRead.name) co_return co_await os::read(needs, arguments);
  if (tool == os::kLs.name) co_return co_await os::ls(needs, arguments);
  if (tool == os::kGlob.name) co_return co_await os::glob(needs, arguments);
  if (tool == os::kGrep.name) co_return co_await os::grep(needs, arguments);
  if (tool == os::kWrite.name) co_return co_await os::write(needs, arguments);
  if (tool == os::kEdit.name) co_return co_await os::edit(needs, arguments);
  if (tool == os::kSubmitPlan.name) co_return co_await os::submit_plan(needs, arguments);
  if (!may_run_bash(caller))
    co_return failed(fmt::format(
        "bash is not for senders from outside ({}); the agent's configuration can allow it",
        utf8::excerpt(caller.sender)));
  // The user was not asked about a harmless command, so the kernel keeps it harmless.
  const bool asked_for_nothing = caller.mode != runtime::PermissionMode::allow_all;
  const bool harmless =
      shell::judge(text_of(arguments, "command")).effect == shell::Judgement::Effect::reads;
  os::Environment environment{environment_for(caller.agent), asked_for_nothing && harmless};
  co_return co_await os::bash(needs, arguments, std::move(environment), caller.progress);
}

}  // namespace reef::hooks
