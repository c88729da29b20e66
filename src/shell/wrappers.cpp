// Programs that run programs: the inner program is judged in their place.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shell/judge.h"

namespace reef::shell {
namespace {

constexpr std::string_view kShells = "sh bash dash zsh ksh ash";
// Without a program in their words they run their input.
constexpr std::string_view kInterpreters =
    "python python2 python3 perl ruby node nodejs php lua deno bun pwsh fish tclsh osascript";
constexpr std::string_view kOpaque =
    "ssh su chroot nsenter unshare fakeroot xvfb-run strace ltrace gdb parallel watch script "
    "docker podman kubectl "
    "flock expect systemd-run at batch crontab entr start-stop-daemon runuser setpriv bwrap "
    "firejail";

// Options of programs that start the program in the words after them.
struct Wrapper {
  Options options;
  std::size_t skips = 0;  // operands before the program
  std::string_view objection = "";
};

const Wrapper* wrapper(std::string_view program) {
  static const Wrapper kPlain{.options = {.permute = false}};
  static const Wrapper kBusybox{.options = {.permute = false},
                                .objection = "its programs take other options"};
  static const Wrapper kNice{
      .options = {.valued = "n", .long_valued = "adjustment", .numbers = true, .permute = false}};
  static const Wrapper kTimeout{.options = {.flags = "v",
                                            .valued = "ks",
                                            .long_flags = "foreground preserve-status verbose",
                                            .long_valued = "signal kill-after",
                                            .permute = false},
                                .skips = 1};
  static const Wrapper kStdbuf{.options = {.valued = "ioe", .permute = false}};
  static const Wrapper kIonice{.options = {.flags = "t", .valued = "cn", .permute = false}};
  static const Wrapper kSetsid{.options = {.flags = "cfw", .permute = false}};
  static const Wrapper kExec{.options = {.flags = "cl", .valued = "a", .permute = false}};
  static const Wrapper kNohup{.options = {.permute = false},
                              .objection = "'nohup' may write nohup.out"};
  static const Wrapper kSudo{
      .options = {.flags = "nEHkSiAbKP", .valued = "ugCprtThD", .permute = false},
      .objection = "it runs as another user"};
  static const Wrapper kTime{.options = {.flags = "pv", .valued = "f", .permute = false}};
  if (program == "builtin") return &kPlain;
  if (program == "busybox" || program == "toybox") return &kBusybox;
  if (program == "nice") return &kNice;
  if (program == "timeout") return &kTimeout;
  if (program == "stdbuf") return &kStdbuf;
  if (program == "ionice") return &kIonice;
  if (program == "setsid") return &kSetsid;
  if (program == "exec") return &kExec;
  if (program == "nohup") return &kNohup;
  if (program == "sudo" || program == "doas") return &kSudo;
  if (program == "time") return &kTime;
  return nullptr;
}

}  // namespace

bool Judge::run_wrapper(const std::string& program, Call call, bool piped) {
  if (const auto* known = wrapper(program)) {
    auto sorted = sort_options(program, known->options, call.data(), call.data() + call.size());
    if (!sorted.objection.empty()) {
      note(Effect::changes, sorted.objection);
      run_opaque(program, call);
      return true;
    }
    if (!known->objection.empty()) note(Effect::changes, std::string(known->objection));
    if (sorted.operands.size() > known->skips) {
      sorted.operands.erase(sorted.operands.begin(),
                            sorted.operands.begin() + static_cast<std::ptrdiff_t>(known->skips));
      run(sorted.operands, piped);
    }
    return true;
  }
  if (program == "command") {
    if (!call.empty() && (call.front().is("-v") || call.front().is("-V"))) return true;
    if (!call.empty() && call.front().is("-p")) call = call.subspan(1);
    if (!call.empty()) run(Arguments(call.begin(), call.end()), piped);
    return true;
  }
  if (program == "eval") {
    std::string joined;
    for (const auto& word : call) {
      if (!word.literal) {
        note(Effect::dangerous, "'eval' runs what is computed");
        return true;
      }
      joined.append(*word.literal).push_back(' ');
    }
    text(joined);
    return true;
  }
  if (program == "trap") {
    note(Effect::changes, "'trap' runs commands later");
    if (!call.empty() && call.front().literal) text(*call.front().literal);
    return true;
  }
  if (program == "source" || program == ".") {
    note(!call.empty() && call.front().literal ? Effect::changes : Effect::dangerous,
         fmt::format("'{}' runs commands that are not seen", program));
    return true;
  }
  if (program == "find") {
    run_find(call);
    return true;
  }
  if (program == "xargs") {
    run_xargs(call);
    return true;
  }
  if (program == "env") {
    run_env(call);
    return true;
  }
  if (is_listed(program, kShells)) {
    run_shell(program, call, piped);
    return true;
  }
  if (is_listed(program, kInterpreters)) {
    const bool reads_program = call.empty() || call.front().is("-");
    if (piped && reads_program) {
      note(Effect::dangerous, fmt::format("'{}' runs what another program prints", program));
      return true;
    }
    return false;
  }
  if (is_listed(program, kOpaque)) run_opaque(program, call);
  return false;
}

void Judge::run_shell(const std::string& program, Call call, bool piped) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    const auto& word = call[i];
    if (!word.literal)
      return note(word.prefix.starts_with("/dev/fd/") ? Effect::dangerous : Effect::changes,
                  fmt::format("'{}' runs what is computed", program));
    const std::string_view option = *word.literal;
    if (option == "--version" && call.size() == 1) return;
    if (option.size() > 1 && option.front() == '-' &&
        option.find_first_not_of("ceuxf", 1) == std::string_view::npos) {
      if (option.find('c') == std::string_view::npos) continue;
      if (i + 1 == call.size()) return note(Effect::changes, "nothing to run");
      // Options may still follow after -c.
      if (!call[i + 1].literal)
        return note(Effect::dangerous, fmt::format("'{} -c' runs what is computed", program));
      if (call[i + 1].literal->starts_with("-") || call[i + 1].literal->starts_with("+"))
        return note(Effect::changes, fmt::format("'{} {}' is not understood", program, option));
      if (program != "bash" && program != "sh" && program != "dash")
        note(Effect::changes, fmt::format("'{}' is another language than bash", program));
      return text(*call[i + 1].literal, program == "bash" ? Dialect::bash : Dialect::posix);
    }
    // A login shell runs the user's own files first; the given script is still judged for danger.
    if (option.size() > 1 && option.front() == '-' && option.find('c') != std::string_view::npos &&
        i + 1 < call.size() && call[i + 1].literal) {
      note(Effect::changes, fmt::format("'{} {}' runs more than it is given", program, option));
      return text(*call[i + 1].literal);
    }
    if (option == "-s" || option == "-" || option == "/dev/stdin" || option.starts_with("/dev/fd/"))
      break;
    return note(Effect::changes, fmt::format("'{}' runs commands that are not seen", program),
                rule_of(program, call));
  }
  note(piped ? Effect::dangerous : Effect::changes,
       fmt::format("'{}' runs what another program prints", program));
}

void Judge::run_find(Call call) {
  auto read = read_find(call);
  if (auto danger = danger_of("find", call); !danger.empty())
    note(Effect::dangerous, std::move(danger));
  if (!read.objection.empty())
    note(Effect::changes, std::move(read.objection), rule_of("find", call));
  if (read.runs.empty()) return;
  // Only find knows in which folder and on what this runs.
  steady_ = false;
  const auto outside = std::exchange(for_many_, true);
  for (const auto& inner : read.runs) run(inner, false);
  for_many_ = outside;
}

void Judge::run_xargs(Call call) {
  // Long options of xargs take values in several ways; the short ones are plain.
  auto sorted = sort_options("xargs",
                             {.flags = "0rtx",
                              .valued = "nPILdsE",
                              .long_flags = "null no-run-if-empty verbose",
                              .permute = false},
                             call.data(), call.data() + call.size());
  if (!sorted.objection.empty()) {
    note(Effect::changes, std::move(sorted.objection));
    return run_opaque("xargs", call);
  }
  if (sorted.operands.empty()) return;  // echo
  std::string replaced;
  for (const auto& [letter, value] : sorted.values) {
    if (letter != 'I') continue;
    if (!value.literal || value.literal->empty())
      return note(Effect::changes, "what 'xargs' replaces is computed");
    replaced = *value.literal;
  }
  auto words = sorted.operands;
  if (!replaced.empty()) {
    for (auto& word : words)
      if (const auto at = word.prefix.find(replaced); at != std::string::npos) {
        word.literal.reset();
        word.prefix.erase(at);
      }
  } else {
    words.push_back(unknown_argument(true));
  }
  steady_ = false;
  const auto outside = std::exchange(for_many_, true);
  run(words, false);
  for_many_ = outside;
}

void Judge::run_env(Call call) {
  std::size_t at = 0;
  for (; at < call.size(); ++at) {
    const auto& word = call[at];
    if (word.is("-i") || word.is("-0") || word.is("--")) {
      steady_ = false;
      continue;
    }
    if (word.is("-u") && at + 1 < call.size() && call[at + 1].one) {
      steady_ = false;
      ++at;
      continue;
    }
    if (!word.literal || word.literal->starts_with("-")) {
      note(Effect::changes, "'env' is given what is not known to be harmless");
      return run_opaque("env", call);
    }
    const auto equals = word.literal->find('=');
    if (equals == std::string::npos) break;
    steady_ = false;
    if (!is_harmless_export(word.literal->substr(0, equals),
                            literal_argument(word.literal->substr(equals + 1))))
      note(Effect::changes, fmt::format("setting '{}' can change what programs do",
                                        word.literal->substr(0, equals)));
  }
  if (at < call.size())
    run(Arguments(call.begin() + static_cast<std::ptrdiff_t>(at), call.end()), false);
}

// Nobody knows where the program begins, so every place is tried, but only to find danger.
void Judge::run_opaque(const std::string& program, Call call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call[i].literal) continue;
    const auto& word = *call[i].literal;
    if (word.find_first_of(" \t\n;|&") != std::string::npos) {
      Judge inside;
      inside.depth_ = depth_;
      inside.text(word);
      if (inside.effect_ == Effect::dangerous) note(Effect::dangerous, inside.reason_);
    } else if (auto danger = danger_of(word, call.subspan(i + 1)); !danger.empty()) {
      note(Effect::dangerous, fmt::format("{} (inside '{}')", danger, program));
    }
  }
}

}  // namespace reef::shell
