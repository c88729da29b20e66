#include "render/compare.h"

#include <algorithm>
#include <unordered_map>

namespace reef::render {
namespace {

// Time and memory of the search for the shortest way grow with its square; this is 4 MB.
constexpr int kStepsMax = 1000;
constexpr int kDepthMax = 64;

using Numbers = std::vector<std::uint32_t>;

struct Range {
  std::size_t a, a_end, b, b_end;
};

class Comparison {
 public:
  Comparison(std::span<const std::string_view> before, std::span<const std::string_view> after) {
    std::unordered_map<std::string_view, std::uint32_t> known;
    const auto number = [&known](std::string_view text) {
      return known.try_emplace(text, static_cast<std::uint32_t>(known.size())).first->second;
    };
    for (const auto text : before) a_.push_back(number(text));
    for (const auto text : after) b_.push_back(number(text));
    seen_.resize(known.size());
  }

  std::vector<Change> run() {
    solve({0, a_.size(), 0, b_.size()}, 0);
    return std::move(out_);
  }

 private:
  struct Seen {
    std::uint32_t in_a = 0, in_b = 0;
    std::size_t at_a = 0, at_b = 0;
  };

  void solve(Range r, int depth) {
    while (r.a < r.a_end && r.b < r.b_end && a_[r.a] == b_[r.b]) {
      out_.push_back(Change::keep);
      ++r.a, ++r.b;
    }
    std::size_t tail = 0;
    while (r.a < r.a_end && r.b < r.b_end && a_[r.a_end - 1] == b_[r.b_end - 1])
      --r.a_end, --r.b_end, ++tail;
    middle(r, depth);
    out_.insert(out_.end(), tail, Change::keep);
  }

  void middle(const Range& r, int depth) {
    if (r.a == r.a_end || r.b == r.b_end) return replace(r);
    const auto anchors =
        depth < kDepthMax ? anchors_in(r) : std::vector<std::pair<std::size_t, std::size_t>>();
    if (anchors.empty()) {
      if (!shortest(r)) replace(r);
      return;
    }
    auto a = r.a, b = r.b;
    for (const auto& [at_a, at_b] : anchors) {
      solve({a, at_a, b, at_b}, depth + 1);
      out_.push_back(Change::keep);
      a = at_a + 1;
      b = at_b + 1;
    }
    solve({a, r.a_end, b, r.b_end}, depth + 1);
  }

  void replace(const Range& r) {
    out_.insert(out_.end(), r.a_end - r.a, Change::remove);
    out_.insert(out_.end(), r.b_end - r.b, Change::add);
  }

  // The items that stand once on both sides, as far as their order is the same.
  std::vector<std::pair<std::size_t, std::size_t>> anchors_in(const Range& r) {
    for (auto i = r.a; i < r.a_end; ++i) ++seen_[a_[i]].in_a, seen_[a_[i]].at_a = i;
    for (auto i = r.b; i < r.b_end; ++i) ++seen_[b_[i]].in_b, seen_[b_[i]].at_b = i;
    std::vector<std::pair<std::size_t, std::size_t>> once;
    for (auto i = r.a; i < r.a_end; ++i)
      if (const auto& seen = seen_[a_[i]]; seen.in_a == 1 && seen.in_b == 1)
        once.emplace_back(i, seen.at_b);
    for (auto i = r.a; i < r.a_end; ++i) seen_[a_[i]] = Seen();
    for (auto i = r.b; i < r.b_end; ++i) seen_[b_[i]] = Seen();

    // The longest part of it that rises in `b`, by piles of cards.
    std::vector<std::size_t> piles;  // the last card of each, as a place in `once`
    std::vector<std::size_t> under(once.size(), SIZE_MAX);
    for (std::size_t i = 0; i < once.size(); ++i) {
      const auto pile = std::lower_bound(
          piles.begin(), piles.end(), i,
          [&](std::size_t x, std::size_t y) { return once[x].second < once[y].second; });
      if (pile != piles.begin()) under[i] = *(pile - 1);
      if (pile == piles.end()) {
        piles.push_back(i);
      } else {
        *pile = i;
      }
    }
    std::vector<std::pair<std::size_t, std::size_t>> out;
    for (auto i = piles.empty() ? SIZE_MAX : piles.back(); i != SIZE_MAX; i = under[i])
      out.push_back(once[i]);
    std::reverse(out.begin(), out.end());
    return out;
  }

  // Myers' greedy search; false when the way is too long.
  bool shortest(const Range& r) {
    const auto n = static_cast<int>(std::min<std::size_t>(r.a_end - r.a, 1U << 30));
    const auto m = static_cast<int>(std::min<std::size_t>(r.b_end - r.b, 1U << 30));
    const auto same = [&](int x, int y) {
      return a_[r.a + static_cast<std::size_t>(x)] == b_[r.b + static_cast<std::size_t>(y)];
    };
    const int most = std::min(n + m, kStepsMax);
    std::vector<std::vector<int>> history;  // how far each diagonal reaches after so many steps
    const auto reach = [](std::vector<int>& v, int k, int steps) -> int& {
      return v[static_cast<std::size_t>(k + steps + 1)];
    };
    const auto is_down = [&](std::vector<int>& last, int k, int d) {
      return k == -d || (k != d && reach(last, k - 1, d - 1) < reach(last, k + 1, d - 1));
    };
    for (int d = 0; d <= most; ++d) {
      std::vector<int> now(static_cast<std::size_t>(2 * d + 3), 0);
      for (int k = -d; k <= d; k += 2) {
        int x = 0;
        if (d > 0) {
          auto& last = history.back();
          x = is_down(last, k, d) ? reach(last, k + 1, d - 1) : reach(last, k - 1, d - 1) + 1;
        }
        int y = x - k;
        while (x < n && y < m && same(x, y)) ++x, ++y;
        reach(now, k, d) = x;
        if (x < n || y < m) continue;
        walk_back(history, d, x, y, reach, is_down);
        return true;
      }
      history.push_back(std::move(now));
    }
    return false;
  }

  template <class Reach, class IsDown>
  void walk_back(std::vector<std::vector<int>>& history, int d, int x, int y, const Reach& reach,
                 const IsDown& is_down) {
    std::vector<Change> steps;
    for (int e = d; e > 0; --e) {
      const int k = x - y;
      auto& last = history[static_cast<std::size_t>(e - 1)];
      const bool down = is_down(last, k, e);
      const int from_x = reach(last, down ? k + 1 : k - 1, e - 1);
      const int from_y = from_x - (down ? k + 1 : k - 1);
      while (x > from_x && y > from_y) steps.push_back(Change::keep), --x, --y;
      steps.push_back(down ? Change::add : Change::remove);
      x = from_x;
      y = from_y;
    }
    while (x > 0) steps.push_back(Change::keep), --x;
    out_.insert(out_.end(), steps.rbegin(), steps.rend());
  }

  Numbers a_, b_;
  std::vector<Seen> seen_;
  std::vector<Change> out_;
};

}  // namespace

std::vector<Change> compare(std::span<const std::string_view> before,
                            std::span<const std::string_view> after) {
  return Comparison(before, after).run();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto size = end == std::string_view::npos ? text.size() : end + 1;
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace reef::render
