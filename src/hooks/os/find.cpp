// ls, glob and grep look for files and in them. A search works in slices, so that it can be
// cancelled, and for a limited time.

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/utf8.h"
#include "hooks/os/files.h"
#include "hooks/os/pattern.h"
#include "hooks/os/tools.h"
#include "hooks/os/walk.h"

namespace reef::hooks::os {
namespace {

using runtime::ToolAnswer;
using Type = Parameter::Type;

constexpr std::chrono::seconds kSearchMax{20};
constexpr std::chrono::milliseconds kSlice{30};
constexpr std::uint64_t kSearchedBytesMax = 10U << 20;  // of one file
constexpr std::size_t kBinaryLook = 8U << 10;
constexpr std::size_t kLineBytesMax = 400;
constexpr std::int64_t kFoundDefault = 500, kFoundMax = 5000;
constexpr std::int64_t kMatchesDefault = 100, kMatchesMax = 1000;
constexpr std::int64_t kContextMax = 10;

const Parameter kEntries{.name = "limit",
                         .type = Type::integer,
                         .description = "How many at most; 500 if not given.",
                         .min = 1,
                         .max = kFoundMax};
const Parameter kMatches{.name = "limit",
                         .type = Type::integer,
                         .description = "How many matching lines at most; 100 if not given.",
                         .min = 1,
                         .max = kMatchesMax};
const Parameter kContext{.name = "context",
                         .type = Type::integer,
                         .description = "Lines to show before and after each match.",
                         .max = kContextMax};

// The lines of an answer, as many as fit.
struct Lines {
  std::size_t bytes_max;
  std::string text = {};
  bool full = false;

  bool add(const std::string& line) {
    if (full || text.size() + line.size() + 1 > bytes_max) {
      full = true;
      return false;
    }
    text += line;
    text += '\n';
    return true;
  }
};

std::string entry_line(int folder, const char* name) {
  struct ::stat info = {};
  const auto shown_name = utf8::single_line(utf8::sanitize(name));
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return shown_name;
  if (S_ISDIR(info.st_mode)) return shown_name + "/";
  if (S_ISREG(info.st_mode)) return fmt::format("{}  {} bytes", shown_name, info.st_size);
  if (!S_ISLNK(info.st_mode)) return shown_name + "  (not a file)";
  char target[1024];
  const auto size = ::readlinkat(folder, name, target, sizeof target);
  return fmt::format("{} -> {}", shown_name,
                     utf8::sanitize(std::string_view(target, size > 0 ? std::size_t(size) : 0)));
}

Result<std::string> list(const PathRules& paths, const std::string& wanted, std::size_t limit,
                         std::size_t bytes_max) {
  REEF_TRY(const auto path, resolve_to_read(paths, wanted));
  struct ::stat info = {};
  if (::stat(path.c_str(), &info) != 0) return sys_error(errno, utf8::excerpt(wanted, 200));
  if (!S_ISDIR(info.st_mode))
    return Error(Errc::invalid, fmt::format("{} is not a folder", utf8::excerpt(wanted, 200)));
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return sys_error(errno, utf8::excerpt(wanted, 200));
  std::vector<std::string> names;
  bool more = false;
  while (const auto* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if ((more = names.size() >= Walk::kNamesMax)) break;
    names.emplace_back(name);
  }
  if (names.empty()) return std::string("(the folder is empty)");
  std::sort(names.begin(), names.end());
  Lines lines{bytes_max};
  std::size_t count = 0;
  for (const auto& name : names) {
    if (count == limit || !lines.add(entry_line(::dirfd(folder.get()), name.c_str()))) break;
    ++count;
  }
  if (count < names.size() || more)
    lines.text +=
        fmt::format("({} of {}{} entries)", count, more ? "more than " : "", names.size());
  return lines.text;
}

// The state of one search.
struct Search {
  Search(const CallNeeds& needs, std::string root, bool respect_ignores)
      : paths(needs.paths),
        walk(needs.paths, std::move(root), respect_ignores),
        lines{needs.shown_bytes} {}

  const PathRules paths;
  Walk walk;
  Lines lines;
  std::size_t limit = 0, found = 0, skipped = 0;
  bool stopped = false;  // enough was found
  bool late = false;

  bool enough() {
    if (++found < limit && !lines.full) return false;
    stopped = true;
    return true;
  }
  std::string said(std::string_view nothing) const {
    auto out = lines.text;
    if (found == 0) out = nothing;
    if (lines.full)
      out += "(there was no room for more; narrow the search)";
    else if (stopped)
      out += fmt::format("(stopped at {}; narrow the search or raise limit)", found);
    if (late)
      out += fmt::format("\n(stopped after {} s: there is too much to search)", kSearchMax.count());
    if (skipped > 0)
      out += fmt::format("\n({} file(s) over {} MiB left out)", skipped, kSearchedBytesMax >> 20);
    if (walk.cut()) out += "\n(a very large or very deep folder was not searched to its end)";
    return out;
  }
};

Task<Status> run(const CallNeeds& needs, Search& search,
                 const std::function<bool(const Found&)>& see) {
  const auto deadline = steady_now(needs.loop) + kSearchMax;
  auto work = [&] { return search.walk.go_on(kSlice, see); };
  while (!search.walk.done() && !search.stopped) {
    REEF_CO_CHECK(co_await needs.pool.run(work));
    search.late = steady_now(needs.loop) > deadline;
    if (search.late) break;
  }
  co_return Ok{};
}

// A path in front of a pattern says where to look: /home/ann/src/**/*.h
void split_pattern(std::string& pattern, std::string& path) {
  if (!pattern.starts_with('/') && !pattern.starts_with("~/")) return;
  const auto slash = pattern.rfind('/', pattern.find_first_of("*?[{"));
  path = slash == 0 ? "/" : pattern.substr(0, slash);
  pattern = pattern.substr(slash + 1);
}

// A pattern without a slash is matched with names in any folder.
bool fits(const Pattern& pattern, bool by_name, const std::string& relative) {
  return pattern.matches(by_name ? std::string_view(relative).substr(relative.rfind('/') + 1)
                                 : std::string_view(relative));
}

struct Wanted {
  std::shared_ptr<const re2::RE2> expression;
  std::optional<Pattern> names;
  bool by_name = false;
  bool files_only = false;
  std::size_t context = 0;
};

struct LineOf {
  std::size_t begin, end;  // without the newline
};
LineOf line_at(std::string_view text, std::size_t at) {
  const auto before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const auto after = text.find('\n', at);
  return {before == std::string_view::npos ? 0 : before + 1,
          after == std::string_view::npos ? text.size() : after};
}

std::string shown_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto part = utf8::prefix(line, kLineBytesMax);
  return utf8::sanitize(part) + (part.size() < line.size() ? " [cut]" : "");
}

// False when enough was found.
bool search_file(Search& search, const Wanted& wanted, const std::string& path) {
  const auto content = read_file(path, kSearchedBytesMax);
  if (!content) {
    search.skipped += content.error().code == Errc::too_large ? 1U : 0U;
    return true;
  }
  const std::string_view text = content->bytes;
  if (text.substr(0, kBinaryLook).find('\0') != std::string_view::npos) return true;
  const auto name = shown(search.paths, path);
  const re2::StringPiece piece(text.data(), text.size());
  re2::StringPiece match;
  std::size_t number = 1, counted = 0;  // the number of the line that holds byte `counted`
  std::size_t printed = 0;              // everything before this byte was shown
  for (std::size_t at = 0; at < text.size();) {
    if (!wanted.expression->Match(piece, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto line = line_at(text, static_cast<std::size_t>(match.data() - text.data()));
    if (line.begin >= text.size()) break;  // the empty line behind the last newline
    if (wanted.files_only) {
      search.lines.add(name);
      return !search.enough();
    }
    number += static_cast<std::size_t>(
        std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                   text.begin() + static_cast<std::ptrdiff_t>(line.begin), '\n'));
    counted = line.begin;
    // The lines before the match that were not shown yet.
    std::vector<LineOf> before;
    for (auto from = line.begin; before.size() < wanted.context && from > printed;) {
      before.push_back(line_at(text, from - 1));
      before.back().end = from - 1;
      from = before.back().begin;
    }
    if (wanted.context > 0 && search.found > 0 &&
        printed < (before.empty() ? line.begin : before.back().begin))
      search.lines.add("--");
    for (auto l = before.size(); l-- > 0;)
      search.lines.add(
          fmt::format("{}-{}- {}", name, number - l - 1,
                      shown_line(text.substr(before[l].begin, before[l].end - before[l].begin))));
    search.lines.add(fmt::format("{}:{}: {}", name, number,
                                 shown_line(text.substr(line.begin, line.end - line.begin))));
    printed = std::min(line.end + 1, text.size());
    at = line.end + 1;
    // The lines after the match, up to the next match.
    for (std::size_t l = 1; l <= wanted.context && printed < text.size(); ++l) {
      const auto next = line_at(text, printed);
      if (wanted.expression->Match(piece, next.begin, next.end, re2::RE2::UNANCHORED, nullptr, 0))
        break;
      search.lines.add(fmt::format("{}-{}- {}", name, number + l,
                                   shown_line(text.substr(next.begin, next.end - next.begin))));
      printed = std::min(next.end + 1, text.size());
    }
    if (search.enough()) return false;
  }
  return true;
}

}  // namespace

const Description kLs{
    "ls",
    "List a folder.",
    {{.name = "path", .description = "The working directory if not given."}, kEntries}};

const Description kGlob{
    "glob",
    "Find files by a pattern of their path: * and ? within one name, ** over folders, [a-z], "
    "{a,b}. "
    "A pattern without a slash fits names in any folder. Leaves out .git and what .gitignore says.",
    {{.name = "pattern", .description = "For example src/**/*.{h,cpp}", .required = true},
     {.name = "path", .description = "Where to begin; the working directory if not given."},
     {.name = "hidden", .type = Type::boolean, .description = "Also what .gitignore leaves out."},
     kEntries}};

const Description kGrep{
    "grep",
    "Search in files with a regular expression (RE2 syntax), line by line. Leaves out .git, what "
    ".gitignore says, and what is not text.",
    {{.name = "pattern", .description = "The expression.", .required = true},
     {.name = "path", .description = "File or folder; the working directory if not given."},
     {.name = "glob", .description = "Only in files like this, for example *.py"},
     {.name = "ignore_case", .type = Type::boolean, .description = "Upper and lower case alike."},
     {.name = "files_only",
      .type = Type::boolean,
      .description = "Only the names of the files that match."},
     {.name = "hidden", .type = Type::boolean, .description = "Also what .gitignore leaves out."},
     kContext,
     kMatches}};

Task<ToolAnswer> ls(const CallNeeds& needs, const json::object& arguments) {
  if (const auto good = check(kLs, arguments); !good) co_return failed(good.error().what);
  auto path = text_of(arguments, "path");
  if (path.empty()) path = ".";
  const auto limit = static_cast<std::size_t>(integer_of(arguments, kEntries, kFoundDefault));
  auto work = [&] { return list(needs.paths, path, limit, needs.shown_bytes); };
  auto listed = co_await needs.pool.run(work);
  if (!listed) co_return failed(std::move(listed).error().what);
  co_return ToolAnswer{*std::move(listed)};
}

Task<ToolAnswer> glob(const CallNeeds& needs, const json::object& arguments) {
  if (const auto good = check(kGlob, arguments); !good) co_return failed(good.error().what);
  auto text = text_of(arguments, "pattern");
  auto path = text_of(arguments, "path");
  split_pattern(text, path);
  if (path.empty()) path = ".";
  const auto pattern = Pattern::compile(text);
  if (!pattern) co_return failed(pattern.error().what);
  auto find = [&] { return resolve_to_read(needs.paths, path); };
  const auto root = co_await needs.pool.run(find);
  if (!root) co_return failed(root.error().what);
  Search search(needs, *root, !flag_of(arguments, "hidden"));
  search.limit = static_cast<std::size_t>(integer_of(arguments, kEntries, kFoundDefault));
  const bool by_name = text.find('/') == std::string::npos;
  const auto done = co_await run(needs, search, [&](const Found& found) {
    if (!fits(*pattern, by_name, found.relative)) return true;
    search.lines.add(shown(search.paths, found.path));
    return !search.enough();
  });
  if (!done) co_return failed(done.error().what);
  co_return ToolAnswer{search.said("no files found")};
}

Task<ToolAnswer> grep(const CallNeeds& needs, const json::object& arguments) {
  if (const auto good = check(kGrep, arguments); !good) co_return failed(good.error().what);
  auto expression =
      compile_expression(text_of(arguments, "pattern"), flag_of(arguments, "ignore_case"));
  if (!expression) co_return failed(expression.error().what);
  Wanted wanted;
  wanted.expression = *std::move(expression);
  wanted.files_only = flag_of(arguments, "files_only");
  wanted.context = static_cast<std::size_t>(integer_of(arguments, kContext, 0));
  if (const auto names = text_of(arguments, "glob"); !names.empty()) {
    auto pattern = Pattern::compile(names);
    if (!pattern) co_return failed(pattern.error().what);
    wanted.names = *std::move(pattern);
    wanted.by_name = names.find('/') == std::string::npos;
  }
  auto path = text_of(arguments, "path");
  if (path.empty()) path = ".";
  auto find = [&]() -> Result<std::pair<std::string, bool>> {
    REEF_TRY(auto real, resolve_to_read(needs.paths, path));
    struct ::stat info = {};
    if (::stat(real.c_str(), &info) != 0) return sys_error(errno, utf8::excerpt(path, 200));
    return std::pair(std::move(real), S_ISDIR(info.st_mode));
  };
  const auto root = co_await needs.pool.run(find);
  if (!root) co_return failed(root.error().what);
  Search search(needs, root->first, !flag_of(arguments, "hidden"));
  search.limit = static_cast<std::size_t>(integer_of(arguments, kMatches, kMatchesDefault));
  if (!root->second) {
    // For a single file, an error is told.
    auto work = [&]() -> Status {
      REEF_TRY(const auto content, read_file(root->first, kSearchedBytesMax));
      static_cast<void>(search_file(search, wanted, root->first));
      return Ok{};
    };
    const auto done = co_await needs.pool.run(work);
    if (!done) co_return failed(done.error().what);
    co_return ToolAnswer{search.said("no matches")};
  }
  const auto done = co_await run(needs, search, [&](const Found& found) {
    if (wanted.names && !fits(*wanted.names, wanted.by_name, found.relative)) return true;
    return search_file(search, wanted, found.path);
  });
  if (!done) co_return failed(done.error().what);
  co_return ToolAnswer{search.said("no matches")};
}

}  // namespace reef::hooks::os
