// Command lines of git that only show. The repository's own configuration is trusted, because git
// trusts it.
#include <algorithm>

#include <fmt/format.h>

#include "shell/programs.h"

namespace reef::shell {
namespace {

constexpr std::string_view kQuietCommands =
    "status rev-parse ls-files ls-tree describe name-rev merge-base for-each-ref show-ref "
    "show-branch cherry "
    "check-ignore check-attr count-objects version";

// The options of log, diff and show.
const Options kHistory{.flags = "psuwbMCBigmcrtzaqREFPn0123456789WlefDX",
                       .valued = "USGL",
                       .long_flags =
                           "oneline stat shortstat numstat dirstat summary name-only name-status "
                           "patch no-patch patch-with-stat raw graph "
                           "decorate no-decorate all branches tags remotes first-parent merges "
                           "no-merges reverse follow abbrev-commit "
                           "no-abbrev-commit abbrev pretty format date relative-date since after "
                           "until before author committer grep "
                           "all-match invert-grep regexp-ignore-case extended-regexp fixed-strings "
                           "perl-regexp max-count skip cached "
                           "staged merge-base no-index no-renames find-renames find-copies "
                           "diff-filter unified word-diff "
                           "word-diff-regex color-words color no-color ignore-all-space "
                           "ignore-space-change ignore-space-at-eol "
                           "ignore-blank-lines ignore-cr-at-eol function-context minimal patience "
                           "histogram diff-algorithm text binary "
                           "full-index exit-code quiet check relative no-relative no-ext-diff "
                           "no-textconv no-prefix submodule "
                           "pickaxe-all pickaxe-regex topo-order date-order author-date-order "
                           "walk-reflogs left-right cherry-pick "
                           "cherry-mark count parents children boundary simplify-merges "
                           "full-history ancestry-path show-signature "
                           "compact-summary inter-hunk-context stdin not no-walk root cc "
                           "combined-all-paths notes no-notes source "
                           "use-mailmap objects numbered email porcelain line-porcelain "
                           "incremental show-name show-number show-email "
                           "left-only right-only no-color-moved color-moved break-rewrites summary "
                           "no-commit-id mailmap",
                       .long_valued = "",
                       .numbers = true,
                       .plain_values = true};

const Options kGrep{
    .flags = "iwvhHEGPFnlLcoqzpWaI",
    .valued = "efABCm",
    .long_flags =
        "ignore-case word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp "
        "fixed-strings line-number column files-with-matches name-only files-without-match "
        "count only-matching quiet break heading show-function function-context cached "
        "untracked no-index recursive no-recursive color no-color and or not all-match text "
        "max-depth threads context after-context before-context max-count null"};

const Options kBranch{
    .flags = "arvl",
    .long_flags =
        "list all remotes verbose show-current contains no-contains merged no-merged sort "
        "format points-at column no-column color no-color ignore-case abbrev no-abbrev"};

const Options kTag{
    .flags = "ln0123456789",
    .long_flags =
        "list contains no-contains merged no-merged sort format points-at column no-column "
        "color no-color ignore-case"};

const Options kConfig{
    .flags = "lz",
    .long_flags =
        "list get get-all get-regexp get-urlmatch global local system worktree show-origin "
        "show-scope null name-only includes no-includes bool int type",
    .operands_max = 1};

Objection made(std::string_view what) {
  return fmt::format("'git {}' can change the repository", what);
}

Sorted sorted_for(std::string_view name, const Options& known, Call call) {
  return sort_options(name, known, call.data(), call.data() + call.size());
}

bool has(const Sorted& sorted, std::string_view options) {
  return std::ranges::any_of(sorted.options, [&](const Argument& word) {
    return is_listed(word.prefix.substr(0, word.prefix.find('=')), options);
  });
}

// Without an option that asks for a list, a name would be created.
Objection names_to_list(std::string_view name, const Options& known, std::string_view asking,
                        Call call) {
  const auto sorted = sorted_for(fmt::format("git {}", name), known, call);
  if (!sorted.objection.empty()) return sorted.objection;
  return sorted.operands.empty() || has(sorted, asking) ? Objection() : made(name);
}

Objection subcommand(std::string_view name, Call call) {
  const auto first = [&](std::string_view list) {
    return !call.empty() && call.front().literal && is_listed(*call.front().literal, list);
  };
  if (is_listed(name, kQuietCommands)) return {};
  if (is_listed(
          name,
          "log show diff whatchanged shortlog diff-tree diff-index diff-files rev-list range-diff "
          "blame annotate"))
    return sorted_for(fmt::format("git {}", name), kHistory, call).objection;
  if (name == "grep") return sorted_for("git grep", kGrep, call).objection;
  if (name == "branch")
    return names_to_list(name, kBranch,
                         "--list --contains --no-contains --merged --no-merged --points-at", call);
  if (name == "tag")
    return names_to_list(
        name, kTag, "-l --list --contains --no-contains --merged --no-merged --points-at", call);
  if (name == "config") {
    const auto sorted = sorted_for("git config", kConfig, call);
    // Names have a dot; a word without one may be an action.
    if (sorted.objection.empty() && !sorted.operands.empty() && !has(sorted, "--get-regexp") &&
        sorted.operands.front().prefix.find('.') == std::string::npos)
      return made(name);
    return sorted.objection;
  }
  if (name == "cat-file") return sorted_for("git cat-file", {.flags = "ptse"}, call).objection;
  if (name == "reflog") {
    if (call.empty()) return {};
    return first("show") ? sorted_for("git reflog", kHistory, call.subspan(1)).objection
                         : made(name);
  }
  if (name == "stash") {
    if (first("list show")) return sorted_for("git stash", kHistory, call.subspan(1)).objection;
    return made(name);
  }
  if (name == "remote") {
    if (call.empty() || (call.size() == 1 && first("-v --verbose"))) return {};
    if (call.size() == 2 && first("get-url") && call[1].is_operand()) return {};
    return made(name);
  }
  if (name == "worktree" && call.size() <= 2 && first("list"))
    return call.size() == 1 || call[1].is("--porcelain") ? Objection() : made(name);
  if (name == "symbolic-ref")
    return sorted_for("git symbolic-ref",
                      {.flags = "q", .long_flags = "short quiet", .operands_max = 1}, call)
        .objection;
  return made(name);
}

}  // namespace

Objection objection_to_git(Call call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call[i].literal) return "what git is to do is computed";
    const auto& word = *call[i].literal;
    if (word == "-C") {
      if (++i == call.size() || !call[i].one) return "'git -C' lacks a folder";
    } else if (word == "--version") {
      return {};
    } else if (word.starts_with("-")) {
      if (!is_listed(word,
                     "--no-pager --no-optional-locks --literal-pathspecs --no-replace-objects"))
        return fmt::format("'git {}' is not known to be harmless", word);
    } else {
      return subcommand(word, call.subspan(i + 1));
    }
  }
  return {};
}

}  // namespace reef::shell
