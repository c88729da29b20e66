#include "hooks/os/diff.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::hooks::os {
namespace {

constexpr std::size_t kAround = 3;
// Time and memory grow with its square; this is 4 MB.
constexpr int kStepsMax = 1000;

using Lines = std::vector<std::string_view>;

// Splits into lines with their newlines.
Lines split(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto size = end == std::string_view::npos ? text.size() : end + 1;
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

enum class Op : char { keep = ' ', remove = '-', add = '+' };

// Myers' greedy search for the shortest way from `a` to `b`; nothing when it is too long.
std::vector<Op> shortest(const Lines& a, const Lines& b) {
  const int n = static_cast<int>(a.size());
  const int m = static_cast<int>(b.size());
  const int most = std::min(n + m, kStepsMax);
  std::vector<std::vector<int>> history;  // `reach` after each number of edits
  const auto at = [&](std::vector<int>& v, int k, int edits) -> int& {
    return v[static_cast<std::size_t>(k + edits + 1)];
  };
  for (int d = 0; d <= most; ++d) {
    std::vector<int> now(static_cast<std::size_t>(2 * d + 3), 0);
    for (int k = -d; k <= d; k += 2) {
      int x = 0;
      if (d > 0) {
        auto& last = history.back();
        const bool down = k == -d || (k != d && at(last, k - 1, d - 1) < at(last, k + 1, d - 1));
        x = down ? at(last, k + 1, d - 1) : at(last, k - 1, d - 1) + 1;
      }
      int y = x - k;
      while (x < n && y < m && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)])
        ++x, ++y;
      at(now, k, d) = x;
      if (x < n || y < m) continue;
      // Walks back to the beginning.
      std::vector<Op> ops;
      history.push_back(std::move(now));
      for (int e = d; e > 0; --e) {
        const int kk = x - y;
        auto& last = history[static_cast<std::size_t>(e - 1)];
        const bool down =
            kk == -e || (kk != e && at(last, kk - 1, e - 1) < at(last, kk + 1, e - 1));
        const int from_k = down ? kk + 1 : kk - 1;
        const int from_x = at(last, from_k, e - 1);
        const int from_y = from_x - from_k;
        while (x > from_x && y > from_y) ops.push_back(Op::keep), --x, --y;
        ops.push_back(down ? Op::add : Op::remove);
        x = from_x;
        y = from_y;
      }
      while (x > 0) ops.push_back(Op::keep), --x;
      std::reverse(ops.begin(), ops.end());
      return ops;
    }
    history.push_back(std::move(now));
  }
  return {};
}

std::vector<Op> script(const Lines& a, const Lines& b) {
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const auto middle = [&](const Lines& all) {
    return Lines(all.begin() + static_cast<std::ptrdiff_t>(head),
                 all.end() - static_cast<std::ptrdiff_t>(tail));
  };
  const auto old_lines = middle(a);
  const auto new_lines = middle(b);
  auto ops = shortest(old_lines, new_lines);
  if (ops.empty()) {
    ops.insert(ops.end(), old_lines.size(), Op::remove);
    ops.insert(ops.end(), new_lines.size(), Op::add);
  }
  ops.insert(ops.begin(), head, Op::keep);
  ops.insert(ops.end(), tail, Op::keep);
  return ops;
}

std::string range(std::size_t from, std::size_t count) {
  // An empty range names the line before it.
  if (count == 0) return fmt::format("{},0", from);
  return count == 1 ? fmt::format("{}", from + 1) : fmt::format("{},{}", from + 1, count);
}

void add_line(std::string& out, Op op, std::string_view line) {
  out += static_cast<char>(op);
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

}  // namespace

Diff unified_diff(std::string_view before, std::string_view after, std::string_view name) {
  Diff out;
  if (before == after) return out;
  const auto a = split(before);
  const auto b = split(after);
  const auto ops = script(a, b);
  while (name.starts_with('/')) name.remove_prefix(1);
  out.text = before.empty() ? "--- /dev/null\n" : fmt::format("--- a/{}\n", name);
  out.text += after.empty() ? "+++ /dev/null\n" : fmt::format("+++ b/{}\n", name);

  std::size_t x = 0, y = 0;  // lines of `a` and `b` before ops[i]
  for (std::size_t i = 0; i < ops.size();) {
    if (ops[i] == Op::keep) {
      ++x, ++y, ++i;
      continue;
    }
    // The hunk ends where more than twice kAround lines are kept.
    const auto lead = std::min(kAround, i);
    std::size_t begin = i - lead, end = i, kept = 0;
    for (std::size_t j = i; j < ops.size() && kept <= 2 * kAround; ++j) {
      kept = ops[j] == Op::keep ? kept + 1 : 0;
      if (kept == 0) end = j + 1;
    }
    const auto stop = std::min(end + kAround, ops.size());
    std::size_t ax = x - lead, by = y - lead;
    const auto first_a = ax, first_b = by;
    std::string body;
    for (auto j = begin; j < stop; ++j) {
      add_line(body, ops[j], ops[j] == Op::add ? b[by] : a[ax]);
      if (ops[j] != Op::add) ++ax;
      if (ops[j] != Op::remove) ++by;
      out.added += ops[j] == Op::add ? 1U : 0U;
      out.removed += ops[j] == Op::remove ? 1U : 0U;
    }
    out.text +=
        fmt::format("@@ -{} +{} @@\n", range(first_a, ax - first_a), range(first_b, by - first_b));
    out.text += body;
    x = ax;
    y = by;
    i = stop;
  }
  out.text = utf8::sanitize(out.text);
  return out;
}

}  // namespace reef::hooks::os
