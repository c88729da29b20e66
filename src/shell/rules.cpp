// What "always" covers. A rule wider than the very command is given only where no word it allows
// can name a program. The table below is complete.
#include <algorithm>

#include <fmt/format.h>

#include "shell/judge.h"

namespace reef::shell {
namespace {

// The words that may stand where no option stands.
enum class Operands : unsigned char {
  none,
  paths,     // any word that is not an option
  refs,      // names of branches and tags
  remote,    // "origin", then refs: another remote may be a folder with hooks, or an address
  packages,  // ./..., ./folder
  filter,    // plain words: the name of a test
};

struct Kind {
  std::string_view program;
  std::string_view verbs;  // empty: the program has none
  std::string_view flags;
  std::string_view valued;  // the next word is their value, whatever it is
  Operands operands = Operands::none;
};

// Options are matched as whole words; abbreviated, joined or new ones are not covered.
constexpr Kind kKinds[] = {
    {"mkdir", "", "-p -v -pv -vp --parents --verbose", "", Operands::paths},
    {"touch", "", "-a -c -m --no-create", "", Operands::paths},
    {"git", "add", "-A --all -u --update -v --verbose -n --dry-run -N --intent-to-add", "",
     Operands::paths},
    {"git", "commit",
     "-a --all -q --quiet -v --verbose -s --signoff --amend --no-edit --allow-empty",
     "-m -am --message", Operands::paths},
    {"git", "push", "-q --quiet -v --verbose -n --dry-run -u --set-upstream --tags --follow-tags",
     "", Operands::remote},
    {"git", "fetch", "-q --quiet -v --verbose -t --tags --all --dry-run", "", Operands::remote},
    {"git", "pull", "-q --quiet -v --verbose --rebase --no-rebase --ff-only --no-edit", "",
     Operands::remote},
    {"git", "switch", "-q --quiet -c --create", "", Operands::refs},
    {"cargo", "build check clippy doc",
     "-q --quiet -v --verbose -r --release --workspace --all-targets --all-features --locked "
     "--offline --lib --bins --tests --no-deps",
     "-p --package", Operands::none},
    {"cargo", "test",
     "-q --quiet -v --verbose -r --release --workspace --all-targets --all-features --locked "
     "--offline --lib --bins --tests --no-run --no-fail-fast",
     "-p --package --test", Operands::filter},
    {"cargo", "fmt", "-q --quiet -v --verbose --all --check", "", Operands::none},
    {"go", "build vet", "-v -race", "", Operands::packages},
    {"go", "test", "-v -race -short -cover -failfast", "-run -count -timeout", Operands::packages},
};

// Programs that run what their words say, or what is typed into them.
constexpr std::string_view kNever =
    "eval source . exec sudo doas su ssh xargs find parallel watch script docker-exec perl expect "
    "at batch crontab systemd-run chroot nsenter unshare gdb lldb strace ltrace trap alias export "
    "declare typeset local readonly set shopt unset enable hash mapfile readarray getopts printf "
    "read let wait test [ sed awk gawk mawk nohup env flock socat nc ncat netcat telnet sqlite3 "
    "psql mysql vi vim vim.basic vim.tiny gvim rvim vimdiff nvim view ex ed emacs emacsclient nano "
    "lftp ftp mail mailx mutt xterm x-terminal-emulator taskset setarch chrt numactl capsh "
    "less more man tmux screen dtach systemctl "
    "busctl dbus-send gdbus pkexec runuser setpriv bwrap firejail start-stop-daemon npx uvx "
    "bunx pipx dlx scp sftp mosh ansible xdg-open entr";
constexpr std::string_view kTakingPrograms =
    "sh bash dash zsh ksh ash fish python python2 python3 node nodejs ruby php lua deno bun "
    "tclsh osascript pwsh Rscript julia guile java";

// Options that name a program, or a file or setting that names one.
struct Naming {
  std::string_view programs;  // empty: all
  std::string_view letters;
  std::string_view longs;
};
constexpr Naming kNaming[] = {
    {"", "",
     "exec eval command rsh rsync-path ssh-command shell script-shell use-compress-program "
     "to-command checkpoint-action rmt-command rsh-command info-script new-volume-script "
     "receive-pack upload-pack extcmd open-files-in-pager config config-env exec-path toolexec "
     "vettool compress-program diff-program filter hook plugin editor pager browser tool"},
    {"rsync", "eM", ""},
    {"tar bsdtar", "IF", ""},
    {"git", "cxO", ""},
    {"apt apt-get aptitude dpkg", "oc", "option config-file pre-invoke post-invoke"},
    {"svn", "", "config-option"},
    {"iptables ip6tables", "", "modprobe"},
    {"tcpdump", "z", ""},
    {"make gmake", "fCIE", "file makefile directory include-dir"},
    {"go", "", "modfile overlay"},
    {"curl wget", "Ke", "use-askpass"},
    {"zip", "T", "unzip-command"},
    {"split", "", "filter"},
    {"sort", "", "compress-program"},
    {"rg", "", "pre hostname-bin"},
    {"fd fdfind", "xX", "exec-batch"},
    {"cargo", "Z", ""},
    {"docker podman kubectl docker-compose", "", "entrypoint"},
};

bool names_program(std::string_view program, Call call) {
  for (const auto& known : kNaming)
    if ((known.programs.empty() || is_listed(program, known.programs)) &&
        has_option(call, known.letters, known.longs))
      return true;
  // go and relatives of find write long options with one dash; make takes variables; tar takes bare
  // letters.
  for (const auto& word : call) {
    const std::string_view text = word.prefix;
    if (is_listed(text.substr(0, text.find('=')), "-exec -toolexec -vettool -execdir -ok"))
      return true;
    if (is_listed(program, "make gmake ninja meson") && text.find('=') != std::string_view::npos &&
        !text.starts_with("-"))
      return true;
  }
  if (program == "tar" && !call.empty() && !call.front().prefix.starts_with("-") &&
      call.front().prefix.find_first_of("IF") != std::string::npos)
    return true;
  const auto verb = call.empty() ? std::string_view() : std::string_view(call.front().prefix);
  if (program == "git")
    return is_listed(verb,
                     "config filter-branch submodule bisect rebase difftool mergetool clone remote "
                     "daemon archive instaweb send-email");
  if (is_listed(program, "docker podman kubectl docker-compose"))
    return is_listed(verb, "run exec compose cp debug create");
  if (is_listed(program, "npm pnpm yarn bun pip pip3 uv poetry conda cargo go gem bundle composer"))
    return is_listed(verb, "exec x dlx run-script config set install-scripts tool generate");
  return false;
}

bool is_reference(const Argument& word) {
  return word.literal && !word.literal->empty() && word.literal->front() != '-' &&
         std::ranges::all_of(*word.literal, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '/' || c == '.' || c == '-' || c == '_';
         });
}

bool is_covered(Operands operands, const Argument& word, std::size_t place) {
  switch (operands) {
    case Operands::none:
      return false;
    case Operands::paths:
      return word.is_operand();
    case Operands::refs:
      return is_reference(word);
    case Operands::remote:
      return place == 0 ? word.is("origin") : is_reference(word);
    case Operands::packages:
      return is_reference(word) && (word.is(".") || word.prefix.starts_with("./"));
    case Operands::filter:
      return is_reference(word) && word.prefix.find_first_of("/.") == std::string::npos;
  }
  return false;
}

bool is_covered(const Kind& kind, Call words) {
  std::size_t operands = 0;
  bool options = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    if (options && word.is("--") && kind.operands == Operands::paths) {
      options = false;
    } else if (!options && kind.operands == Operands::paths && !word.splits && word.literal) {
      continue;
    } else if (word.literal && is_listed(*word.literal, kind.flags)) {
      continue;
    } else if (word.literal && is_listed(*word.literal, kind.valued)) {
      if (++i == words.size() || !words[i].one || words[i].splits) return false;
    } else if (!is_covered(kind.operands, word, operands++)) {
      return false;
    }
  }
  return true;
}

std::string kind_of(std::string_view program, Call call) {
  for (const auto& kind : kKinds) {
    if (kind.program != program) continue;
    if (kind.verbs.empty()) return is_covered(kind, call) ? std::string(program) : std::string();
    if (call.empty() || !call.front().literal || !is_listed(*call.front().literal, kind.verbs))
      continue;
    if (is_covered(kind, call.subspan(1)))
      return fmt::format("{} {}", program, *call.front().literal);
  }
  return {};
}

}  // namespace

bool is_reefs_own(std::string_view program) {
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos)
    program.remove_prefix(slash + 1);
  return program == "reef" || program == "reefd" || program.starts_with("reef-") ||
         program.starts_with("reef_");
}

Rule rule_of(std::string_view program, Call call) {
  auto name = program;
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  if (is_listed(name, kNever) || is_reefs_own(name)) return {};
  Rule rule;
  rule.kind = kind_of(program, call);
  if (!rule.kind.empty()) {
    rule.exact = std::ranges::all_of(call, [](const Argument& word) { return !!word.literal; });
    return rule;
  }
  // A word that is not literal may differ every time.
  for (const auto& word : call)
    if (!word.literal) return {};
  // An interpreter must get its program as a file, not in an option or from standard input.
  if (is_listed(name, kTakingPrograms) && (call.empty() || call.front().prefix.starts_with("-")))
    return {};
  rule.exact = !names_program(name, call);
  return rule;
}

bool changes_what_follows(std::string_view program) {
  return is_listed(program,
                   "cd pushd popd export declare typeset local readonly read set shopt unset alias "
                   "unalias hash enable mapfile readarray getopts trap exec source . eval umask "
                   "ulimit bind complete");
}

}  // namespace reef::shell
