#include <algorithm>

#include <fmt/format.h>

#include "shell/judge.h"

namespace reef::shell {
namespace {

// Their first word says what they do.
constexpr std::string_view kWithVerbs =
    "git npm pnpm yarn bun cargo go pip pip3 uv poetry apt apt-get brew dnf docker docker-compose "
    "podman kubectl helm "
    "systemctl gh make ninja cmake gradle mvn dotnet rustup conda svn hg bundle gem composer "
    "terraform";
// Their second word is the name of something to run.
constexpr std::string_view kRunners = "run exec run-script x dlx";
// What they run is in their words: one yes would be a yes to everything.
constexpr std::string_view kNever =
    "eval source . exec sudo doas su ssh xargs find parallel watch script docker-exec perl expect "
    "at batch crontab "
    "systemd-run chroot nsenter unshare gdb strace trap alias export declare typeset local "
    "readonly set shopt unset "
    "enable hash mapfile readarray getopts printf read let wait test [ sed awk gawk mawk nohup env "
    "flock";

bool is_plain(const Argument& word) {
  return word.literal && !word.literal->empty() && word.literal->size() <= 100 &&
         word.literal->find_first_of(" \t\n>") == std::string::npos;
}

}  // namespace

std::string rule_of(std::string_view program, Call call) {
  if (is_listed(program, kNever) || program.find_first_of(" \t\n>") != std::string_view::npos)
    return {};
  // A word that is computed could make it something else altogether.
  for (const auto& word : call)
    if (!word.literal && !word.is_operand()) return {};
  const auto first = call.empty() ? std::string_view() : std::string_view(call.front().prefix);
  if (is_listed(program,
                "sh bash dash zsh ksh ash python python2 python3 node nodejs ruby php lua deno npx "
                "uvx")) {
    // The program it is given, not one written into the command.
    if (call.empty() || !is_plain(call.front()) || first.starts_with("-")) return {};
    return fmt::format("{} {}", program, first);
  }
  if (!is_listed(program, kWithVerbs)) return std::string(program);
  if (call.empty()) return std::string(program);
  if (!is_plain(call.front()) || first.starts_with("-")) return {};
  if (program == "git" && is_listed(first, "config filter-branch submodule bisect rebase"))
    return {};
  if (is_listed(program, "docker podman kubectl docker-compose") &&
      is_listed(first, "run exec compose cp"))
    return {};
  if (is_listed(first, kRunners)) {
    if (call.size() < 2 || !is_plain(call[1]) || call[1].prefix.starts_with("-")) return {};
    return fmt::format("{} {} {}", program, first, call[1].prefix);
  }
  return fmt::format("{} {}", program, first);
}

}  // namespace reef::shell
