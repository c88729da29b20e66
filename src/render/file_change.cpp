#include "render/file_change.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace reef::render {
namespace {

constexpr std::string_view kNoNewline = "\\ No newline at end of file";

void keep_unknown(std::vector<Step>& steps, std::size_t count) {
  if (count == 0) return;
  if (!steps.empty() && steps.back().unknown > 0) {
    steps.back().unknown += count;
  } else {
    steps.push_back(Step{Change::keep, {}, count});
  }
}

// Compares again what is known on both sides, so that lines which came and went again, or only
// moved to where they were, are no change.
void tidy(std::vector<Step>& steps) {
  std::vector<Step> out;
  for (std::size_t i = 0; i < steps.size();) {
    if (steps[i].unknown > 0) {
      keep_unknown(out, steps[i++].unknown);
      continue;
    }
    std::vector<std::string_view> before, after;
    for (; i < steps.size() && steps[i].unknown == 0; ++i) {
      if (steps[i].change != Change::add) before.push_back(steps[i].line);
      if (steps[i].change != Change::remove) after.push_back(steps[i].line);
    }
    std::size_t x = 0, y = 0;
    for (const auto change : compare(before, after)) {
      out.push_back(Step{change, std::string(change == Change::add ? after[y] : before[x])});
      if (change != Change::add) ++x;
      if (change != Change::remove) ++y;
    }
  }
  steps = std::move(out);
}

std::string name_in(std::string_view line, std::string_view prefix) {
  line.remove_prefix(std::min<std::size_t>(4, line.size()));  // "--- ", "+++ "
  line = line.substr(0, line.find('\t'));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line == "/dev/null") return {};
  if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  return std::string(line);
}

struct HunkHead {
  std::size_t old_from = 0, old_count = 1, new_from = 0, new_count = 1;
};

// "@@ -1,2 +3 @@"
std::optional<HunkHead> hunk_head(std::string_view line) {
  HunkHead out;
  const auto number = [&line](std::size_t& into) {
    const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), into);
    if (failed != std::errc()) return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return true;
  };
  const auto range = [&](char sign, std::size_t& from, std::size_t& count) {
    const auto at = line.find(sign);
    if (at == std::string_view::npos) return false;
    line.remove_prefix(at + 1);
    if (!number(from)) return false;
    if (!line.starts_with(',')) return true;
    line.remove_prefix(1);
    return number(count);
  };
  if (!line.starts_with("@@ ")) return std::nullopt;
  if (!range('-', out.old_from, out.old_count) || !range('+', out.new_from, out.new_count))
    return std::nullopt;
  constexpr std::size_t kMost = 1U << 30;
  if (out.old_from > kMost || out.old_count > kMost || out.new_count > kMost) return std::nullopt;
  return out;
}

class ChangeReader {
 public:
  explicit ChangeReader(std::string_view text) : lines_(lines_of(text)) {}

  std::vector<FileChange> run() {
    while (at_ < lines_.size()) {
      const auto line = lines_[at_];
      if (line.starts_with("--- ") && at_ + 1 < lines_.size() &&
          lines_[at_ + 1].starts_with("+++ ")) {
        auto& file = out_.emplace_back();
        file.old_name = name_in(line, "a/");
        file.new_name = name_in(lines_[at_ + 1], "b/");
        passed_ = 0;
        at_ += 2;
      } else if (const auto head = hunk_head(line); head && !out_.empty() && !out_.back().binary) {
        ++at_;
        hunk(*head);
      } else {
        if (line.starts_with("Binary files ")) binary(line);
        if (line.starts_with("[cut: ") && !out_.empty()) out_.back().cut = true;
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  void binary(std::string_view line) {
    // "Binary files a/x and b/x differ"
    auto& file = out_.emplace_back();
    file.binary = true;
    line.remove_prefix(std::string_view("Binary files ").size());
    const auto both = line.find(" and ");
    const auto differ = line.rfind(" differ");
    if (both == std::string_view::npos || differ == std::string_view::npos || differ < both) return;
    file.old_name = name_in(fmt::format("--- {}", line.substr(0, both)), "a/");
    file.new_name = name_in(fmt::format("+++ {}", line.substr(both + 5, differ - both - 5)), "b/");
  }

  void hunk(const HunkHead& head) {
    auto& file = out_.back();
    // An empty range names the line in front of it.
    const auto from = head.old_count == 0 ? head.old_from
                      : head.old_from > 0 ? head.old_from - 1
                                          : 0;
    // Hunks that overlap are of a diff that somebody wrote by hand; the lines count as they come.
    keep_unknown(file.steps, from > passed_ ? from - passed_ : 0);
    passed_ = std::max(passed_, from);
    std::size_t old_left = head.old_count, new_left = head.new_count;
    while (at_ < lines_.size() && (old_left > 0 || new_left > 0)) {
      auto line = lines_[at_];
      if (line.starts_with('\\')) {
        take_newline();
        ++at_;
        continue;
      }
      const char sign = line.front();
      // Some editors take the space away from lines that are empty otherwise.
      const bool bare = sign == '\n' || sign == '\r';
      if (sign != ' ' && sign != '+' && sign != '-' && !bare) break;
      if (!bare) line.remove_prefix(1);
      const auto change = sign == '+' ? Change::add : sign == '-' ? Change::remove : Change::keep;
      if ((change != Change::add && old_left == 0) || (change != Change::remove && new_left == 0))
        break;
      if (change != Change::add) --old_left, ++passed_;
      if (change != Change::remove) --new_left;
      file.steps.push_back(Step{change, std::string(line)});
      ++at_;
    }
    if (at_ < lines_.size() && lines_[at_].starts_with('\\')) {
      take_newline();
      ++at_;
    }
    if (old_left > 0 || new_left > 0) file.cut = true;
  }

  void take_newline() {
    auto& steps = out_.back().steps;
    if (!steps.empty() && steps.back().line.ends_with('\n')) steps.back().line.pop_back();
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::size_t passed_ = 0;  // lines of the old file
  std::vector<FileChange> out_;
};

// Walks over the steps of a change line by line.
class Walk {
 public:
  explicit Walk(const FileChange& file) : steps_(file.steps) {}

  bool over() const { return at_ == steps_.size(); }
  Change change() const { return over() ? Change::keep : steps_[at_].change; }
  // How many lines may be taken at once; behind the end any number.
  std::size_t run() const {
    if (over()) return SIZE_MAX;
    return steps_[at_].unknown > 0 ? steps_[at_].unknown - used_ : 1;
  }
  bool known() const { return !over() && steps_[at_].unknown == 0; }
  const std::string& line() const { return steps_[at_].line; }
  void take(std::size_t count) {
    if (over()) return;
    used_ += count;
    if (used_ >= std::max<std::size_t>(steps_[at_].unknown, 1)) {
      ++at_;
      used_ = 0;
    }
  }

 private:
  const std::vector<Step>& steps_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
};

std::string range(std::size_t from, std::size_t count) {
  // An empty range names the line in front of it.
  if (count == 0) return fmt::format("{},0", from);
  return count == 1 ? fmt::format("{}", from + 1) : fmt::format("{},{}", from + 1, count);
}

void add_line(std::string& out, const Step& step) {
  out += static_cast<char>(step.change);
  out += step.line;
  if (!step.line.ends_with('\n')) out += fmt::format("\n{}\n", kNoNewline);
}

// How much of the lines of two files is the same, 0 to 1.
double likeness(const FileChange& gone, const FileChange& come) {
  std::vector<std::string_view> a, b;
  for (const auto& step : gone.steps)
    if (step.change == Change::remove) a.push_back(step.line);
  for (const auto& step : come.steps)
    if (step.change == Change::add) b.push_back(step.line);
  if (a.empty() || b.empty() || a.size() + b.size() > 20'000) return 0;
  const auto steps = compare(a, b);
  const auto kept = static_cast<double>(std::count(steps.begin(), steps.end(), Change::keep));
  return 2 * kept / static_cast<double>(a.size() + b.size());
}

constexpr double kRenamed = 0.6;

}  // namespace

std::size_t FileChange::added() const {
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const Step& s) { return s.change == Change::add; }));
}

std::size_t FileChange::removed() const {
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const Step& s) { return s.change == Change::remove; }));
}

FileChange make_change(std::string_view old_name, std::string_view before,
                       std::string_view new_name, std::string_view after,
                       const ChangeOptions& options) {
  FileChange out;
  out.old_name = old_name;
  out.new_name = new_name;
  if (before.find('\0') != std::string_view::npos || after.find('\0') != std::string_view::npos) {
    out.binary = true;
    return out;
  }
  if (before.size() + after.size() > options.bytes_max) {
    out.cut = before != after;
    return out;
  }
  const auto a = lines_of(before);
  const auto b = lines_of(after);
  std::size_t x = 0, y = 0;
  for (const auto change : compare(a, b)) {
    out.steps.push_back(Step{change, std::string(change == Change::add ? b[y] : a[x])});
    if (change != Change::add) ++x;
    if (change != Change::remove) ++y;
  }
  return out;
}

std::vector<FileChange> read_changes(std::string_view text) {
  return ChangeReader(text).run();
}

FileChange compose(const FileChange& first, const FileChange& then) {
  FileChange out;
  out.old_name = first.old_name;
  out.new_name = then.new_name;
  out.binary = first.binary || then.binary;
  out.cut = first.cut || then.cut;
  Walk a(first), b(then);
  auto& steps = out.steps;
  while (!a.over() || !b.over()) {
    if (a.change() == Change::remove) {
      steps.push_back(Step{Change::remove, a.line()});
      a.take(1);
    } else if (b.change() == Change::add) {
      steps.push_back(Step{Change::add, b.line()});
      b.take(1);
    } else if (a.change() == Change::add) {
      // Added lines are taken away again, or stay.
      if (b.change() == Change::keep) steps.push_back(Step{Change::add, a.line()});
      a.take(1);
      b.take(1);
    } else if (b.change() == Change::remove) {
      steps.push_back(Step{Change::remove, b.line()});
      a.take(1);
      b.take(1);
    } else if (a.known() || b.known()) {
      steps.push_back(Step{Change::keep, a.known() ? a.line() : b.line()});
      a.take(1);
      b.take(1);
    } else {
      const auto count = std::min(a.run(), b.run());
      if (count == SIZE_MAX) break;
      keep_unknown(steps, count);
      a.take(count);
      b.take(count);
    }
  }
  tidy(steps);
  return out;
}

std::vector<FileChange> combine(const std::vector<FileChange>& edits) {
  std::vector<FileChange> out;
  for (const auto& edit : edits) {
    const auto& name = edit.old_name.empty() ? edit.new_name : edit.old_name;
    const auto known = std::find_if(out.begin(), out.end(), [&](const FileChange& one) {
      return (one.new_name.empty() ? one.old_name : one.new_name) == name;
    });
    if (known == out.end()) {
      out.push_back(edit);
    } else {
      *known = compose(*known, edit);
    }
  }
  std::erase_if(out, [](const FileChange& one) {
    const bool same = one.old_name == one.new_name;
    const bool never = one.old_name.empty() && one.new_name.empty();
    return never || (same && !one.binary && !one.cut && one.added() == 0 && one.removed() == 0);
  });
  for (auto gone = out.begin(); gone != out.end(); ++gone) {
    if (!gone->new_name.empty() || gone->binary) continue;
    auto best = out.end();
    double most = kRenamed;
    for (auto come = out.begin(); come != out.end(); ++come) {
      if (!come->old_name.empty() || come->binary) continue;
      if (const auto like = likeness(*gone, *come); like >= most) {
        best = come;
        most = like;
      }
    }
    if (best == out.end()) continue;
    FileChange renamed = compose(*gone, *best);
    renamed.new_name = best->new_name;
    *gone = std::move(renamed);
    best->old_name.clear();
    best->new_name.clear();
  }
  std::erase_if(out,
                [](const FileChange& one) { return one.old_name.empty() && one.new_name.empty(); });
  return out;
}

std::string unified(const FileChange& file, std::size_t around) {
  const auto old_name = file.old_name.empty() ? "/dev/null" : "a/" + file.old_name;
  const auto new_name = file.new_name.empty() ? "/dev/null" : "b/" + file.new_name;
  if (file.binary) return fmt::format("Binary files {} and {} differ\n", old_name, new_name);
  const auto& steps = file.steps;
  std::string out;
  std::size_t x = 0, y = 0;  // lines of both files in front of steps[i]
  for (std::size_t i = 0; i < steps.size();) {
    if (steps[i].change == Change::keep) {
      const auto count = std::max<std::size_t>(steps[i].unknown, 1);
      x += count;
      y += count;
      ++i;
      continue;
    }
    auto begin = i;
    while (begin > 0 && i - begin < around && steps[begin - 1].change == Change::keep &&
           steps[begin - 1].unknown == 0)
      --begin;
    // The hunk ends where more than twice `around` lines stay, or some are not known.
    std::size_t end = i, kept = 0;
    for (auto j = i; j < steps.size() && kept <= 2 * around && steps[j].unknown == 0; ++j) {
      kept = steps[j].change == Change::keep ? kept + 1 : 0;
      if (kept == 0) end = j + 1;
    }
    auto stop = end;
    while (stop < steps.size() && stop - end < around && steps[stop].unknown == 0 &&
           steps[stop].change == Change::keep)
      ++stop;
    auto ax = x - (i - begin), by = y - (i - begin);
    const auto first_a = ax, first_b = by;
    std::string body;
    for (auto j = begin; j < stop; ++j) {
      add_line(body, steps[j]);
      if (steps[j].change != Change::add) ++ax;
      if (steps[j].change != Change::remove) ++by;
    }
    out +=
        fmt::format("@@ -{} +{} @@\n", range(first_a, ax - first_a), range(first_b, by - first_b)) +
        body;
    x = ax;
    y = by;
    i = stop;
  }
  return out.empty() ? out : fmt::format("--- {}\n+++ {}\n", old_name, new_name) + out;
}

}  // namespace reef::render
