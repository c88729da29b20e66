#include "shell/programs.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace reef::shell {
namespace {

// No word can make these programs write, run a program, or reach the network.
constexpr std::string_view kQuietPrograms =
    "cat tac head tail wc ls dir vdir stat du df cut tr paste comm join nl fold fmt rev expand "
    "unexpand "
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base32 base64 basenc "
    "od hexdump "
    "hd basename dirname realpath readlink pwd echo true false : sleep seq factor numfmt tsort "
    "uname arch "
    "nproc uptime free whoami id groups logname users who tty hostid locale printenv grep egrep "
    "fgrep "
    "which whereis cmp diff look colrm col column cal expr pathchk vmstat lscpu pidof pgrep pstree "
    "pmap ps jq "
    "cd pushd popd dirs type exit return break continue pr bc times lsblk";

// Programs for which only these options are let through.
const std::map<std::string_view, Options>& table() {
  static const std::map<std::string_view, Options> programs = {
      {"sort",
       {.flags = "bdfgiMhnRrVcCmsuz",
        .valued = "ktS",
        .long_flags = "reverse numeric-sort unique ignore-case human-numeric-sort version-sort "
                      "general-numeric-sort "
                      "stable check zero-terminated month-sort random-sort dictionary-order "
                      "ignore-leading-blanks merge ignore-nonprinting",
        .long_valued = "key field-separator parallel sort"}},
      {"uniq",
       {.flags = "cdDuiz",
        .valued = "fsw",
        .long_flags = "count repeated unique ignore-case all-repeated group zero-terminated",
        .long_valued = "skip-fields skip-chars check-chars",
        .operands_max = 1}},
      {"shuf",
       {.flags = "erz",
        .valued = "ni",
        .long_flags = "echo repeat",
        .long_valued = "head-count input-range"}},
      {"iconv",
       {.flags = "cls", .valued = "ft", .long_flags = "list", .long_valued = "from-code to-code"}},
      {"strings",
       {.flags = "aw", .valued = "nte", .long_flags = "all", .long_valued = "bytes radix"}},
      {"file",
       {.flags = "bihLkrnN0",
        .valued = "eF",
        .long_flags =
            "brief mime mime-type mime-encoding dereference no-dereference keep-going raw"}},
      {"tree",
       {.flags = "adfipshDFugNQqrtcUnCSAvJX",
        .valued = "LPI",
        .long_flags = "noreport du dirsfirst gitignore prune matchdirs ignore-case si",
        .long_valued = "filelimit charset"}},
      {"date",
       {.flags = "uRI",
        .valued = "dr",
        .long_flags = "utc universal rfc-email iso-8601 rfc-3339",
        .long_valued = "date reference"}},
      {"rg",
       {.flags = "iSswxvclLnNoquUpPFhHIa0.",
        .valued = "efgtTABCmrjdEM",
        .long_flags =
            "ignore-case smart-case case-sensitive word-regexp line-regexp invert-match count "
            "count-matches "
            "files-with-matches files-without-match line-number no-line-number only-matching quiet "
            "multiline "
            "multiline-dotall pcre2 fixed-strings heading no-heading with-filename no-filename "
            "hidden no-ignore "
            "no-ignore-vcs files json stats text trim vimgrep column follow null color colors sort "
            "sortr "
            "type-list no-messages passthru crlf one-file-system no-config max-columns-preview",
        .long_valued =
            "regexp file glob iglob type type-not after-context before-context context max-count "
            "replace threads max-depth max-columns encoding max-filesize color sort sortr"}},
      {"fd",
       {.flags = "HIsigap0uFL1",
        .valued = "tedESc",
        .long_flags = "hidden no-ignore case-sensitive ignore-case glob absolute-path full-path "
                      "fixed-strings follow "
                      "print0 prune",
        .long_valued =
            "type extension max-depth min-depth exclude size changed-within changed-before color"}},
      {"fdfind",
       {.flags = "HIsigap0uFL1",
        .valued = "tedESc",
        .long_flags = "hidden no-ignore glob",
        .long_valued = "type extension"}},
      {"zcat", {.flags = "fqv"}},
      {"bzcat", {.flags = "q"}},
      {"xzcat", {.flags = "q"}},
      {"hostname", {.operands_max = 0}},
      {"umask", {.flags = "S", .operands_max = 0}},
      {"dpkg-query",
       {.flags = "lWsLS", .valued = "f", .long_flags = "list show", .long_valued = "showformat"}},
      {"wait", {}},
  };
  return programs;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 16 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// xxd has its own kind of options, and it writes to a second file.
Objection objection_to_xxd(Call call) {
  std::size_t files = 0;
  for (std::size_t i = 0; i < call.size(); ++i) {
    const auto& word = call[i];
    if (!word.literal) {
      if (!word.is_operand() || !word.one) return "a word after 'xxd' is computed";
      ++files;
    } else if (is_listed(*word.literal, "-a -b -e -E -i -p -ps -u -C")) {
      continue;
    } else if (is_listed(*word.literal, "-c -g -l -s -o -n")) {
      if (++i == call.size() || !call[i].one) return "'xxd' lacks a number";
    } else if (word.literal->size() > 2 &&
               is_listed(word.literal->substr(0, 2), "-c -g -l -s -o") &&
               is_number(word.literal->substr(2))) {
      continue;
    } else if (word.literal->starts_with("-")) {
      return fmt::format("'xxd {}' is not known to be harmless", *word.literal);
    } else {
      ++files;
    }
  }
  return files > 1 ? "the second file of 'xxd' is written to" : "";
}

Objection objection_to_printf(Call call) {
  // -v assigns a variable when it is the first word; %n assigns the variable that a later word
  // names.
  if (!call.empty() && call.front().is("--"))
    call = call.subspan(1);
  else if (!call.empty() && !call.front().is_operand())
    return "'printf' could assign a variable";
  if (call.empty() || (call.size() == 1 && call.front().one)) return {};
  if (!call.front().literal) return "'printf' could assign a variable";
  const std::string_view format = *call.front().literal;
  for (auto at = format.find('%'); at != std::string_view::npos; at = format.find('%', at + 1)) {
    at = format.find_first_not_of("%-+ #0123456789.*'hlLjzt", at);
    if (at == std::string_view::npos) break;
    if (format[at] == 'n') return "'printf' could assign a variable";
  }
  return {};
}

Objection objection_to_read(Call call) {
  const auto sorted = sort_options("read", {.flags = "rs", .valued = "dnNtp", .permute = false},
                                   call.data(), call.data() + call.size());
  if (!sorted.objection.empty()) return sorted.objection;
  for (const auto& name : sorted.operands)
    if (!name.literal || !is_harmless_variable(*name.literal))
      return "'read' could set a variable that programs look at";
  return {};
}

Objection objection_to_set(Call call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call[i].literal) return "'set' with computed words";
    const std::string_view word = *call[i].literal;
    if (word.size() < 2 || (word.front() != '-' && word.front() != '+') ||
        word.find_first_not_of("euxfo", 1) != std::string_view::npos)
      return fmt::format("'set {}' is not known to be harmless", word);
    if (word.find('o') == std::string_view::npos) continue;
    if (++i == call.size() || !call[i].literal ||
        !is_listed(*call[i].literal, "pipefail errexit nounset xtrace noglob"))
      return "'set -o' is not known to be harmless";
  }
  return {};
}

Objection objection_to_export(Call call) {
  for (const auto& word : call) {
    const auto equals = word.prefix.find('=');
    if (equals == std::string::npos || word.splits) return "'export' changes what programs do";
    auto value = word;
    value.prefix.erase(0, equals + 1);
    if (value.literal) value.literal = value.prefix;
    if (!is_harmless_export(word.prefix.substr(0, equals), value))
      return "'export' changes what programs do";
  }
  return {};
}

Objection objection_to_date(Call call) {
  const auto sorted =
      sort_options("date", table().at("date"), call.data(), call.data() + call.size());
  if (!sorted.objection.empty()) return sorted.objection;
  for (const auto& operand : sorted.operands)
    if (!operand.prefix.starts_with("+")) return "'date' could set the clock";
  return {};
}

Objection objection_to_dpkg(Call call) {
  if (call.empty() || !call.front().literal ||
      !is_listed(*call.front().literal, "-l -L -s -S --list --listfiles --status --search"))
    return "'dpkg' changes packages";
  for (const auto& word : call.subspan(1))
    if (!word.is_operand()) return "'dpkg' changes packages";
  return {};
}

// A file name with a colon is on another machine.
Objection objection_to_tar(Call call) {
  const Objection why = "'tar' is not known to be harmless but for 'tar tf FILE'";
  if (call.size() < 2 || !call[0].literal || !call[1].literal) return why;
  std::string_view letters = *call[0].literal;
  if (letters.starts_with("-")) letters.remove_prefix(1);
  if (!letters.starts_with("t") || !letters.ends_with("f") ||
      letters.find_first_not_of("tvzjJf") != std::string_view::npos ||
      call[1].literal->find(':') != std::string::npos)
    return why;
  for (const auto& member : call.subspan(1))
    if (!member.is_operand()) return why;
  return {};
}

Objection objection_to_unzip(Call call) {
  if (call.size() != 2 || !call[0].literal || !is_listed(*call[0].literal, "-l -v -Z -Z1") ||
      !call[1].is_operand() || !call[1].one)
    return "'unzip' writes files";
  return {};
}

Objection objection_to_find(Call call) {
  auto read = read_find(call);
  if (!read.objection.empty()) return read.objection;
  // The caller judges what it runs, because it knows the programs that run programs.
  return {};
}

using Check = Objection (*)(Call);
const std::map<std::string_view, Check>& checks() {
  static const std::map<std::string_view, Check> programs = {
      {"awk", objection_to_awk},   {"gawk", objection_to_awk},    {"mawk", objection_to_awk},
      {"git", objection_to_git},   {"sed", objection_to_sed},     {"test", objection_to_test},
      {"find", objection_to_find}, {"xxd", objection_to_xxd},     {"printf", objection_to_printf},
      {"read", objection_to_read}, {"set", objection_to_set},     {"export", objection_to_export},
      {"tar", objection_to_tar},   {"unzip", objection_to_unzip}, {"date", objection_to_date},
      {"dpkg", objection_to_dpkg},
  };
  return programs;
}

// A request for the version starts little more than the answer.
constexpr std::string_view kVersioned =
    "python python3 node gcc g++ cc c++ clang clang++ cmake make ninja ruby perl bash java php lua";

}  // namespace

Objection objection_to(std::string_view program, Call call) {
  if (program == "[") {
    if (call.empty() || !call.back().is("]")) return "a '[' is not closed";
    return objection_to_test(call.first(call.size() - 1));
  }
  if (is_listed(program, kQuietPrograms)) return {};
  if (const auto check = checks().find(program); check != checks().end())
    return check->second(call);
  if (const auto known = table().find(program); known != table().end())
    return sort_options(program, known->second, call.data(), call.data() + call.size()).objection;
  if (is_listed(program, kVersioned) && call.size() == 1 &&
      (call.front().is("--version") || (program.starts_with("python") && call.front().is("-V")) ||
       (program == "node" && call.front().is("-v"))))
    return {};
  if (program == "go" && call.size() == 1 && call.front().is("version")) return {};
  return fmt::format("'{}' is not known to be harmless", program);
}

bool is_harmless_variable(std::string_view name) {
  if (name.empty() || name == "_") return false;
  if (is_listed(name,
                "F FILE FILES D DIR DIRS ROOT REPO SRC N P X Y Z I J K A B C NAME PATTERN LINE "
                "START END COUNT "
                "COMMIT BRANCH BASE TARGET"))
    return true;
  // Programs read variables with capital letters, and those of proxies.
  const bool small = std::ranges::all_of(
      name, [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  return small && (name.front() < '0' || name.front() > '9') && !name.ends_with("_proxy");
}

bool is_harmless_export(std::string_view name, const Argument& value) {
  if (name == "GIT_PAGER" || name == "PAGER") return value.is("cat") || value.is("");
  if (name == "GIT_OPTIONAL_LOCKS") return value.is("0");
  if (name != "LANG" && name != "LANGUAGE" && name != "TZ" && name != "NO_COLOR" &&
      name != "COLUMNS" && name != "LINES" && name != "TERM" && !name.starts_with("LC_"))
    return false;
  return value.literal && value.literal->find('/') == std::string::npos;
}

}  // namespace reef::shell
