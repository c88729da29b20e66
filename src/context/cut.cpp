#include "context/cut.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "context/estimate.h"
#include "session/context.h"

namespace reef::context {
namespace {

using session::Entry;

bool is_message(const Entry& entry) {
  return entry.type == "message";
}

std::string_view role_of(const Entry& entry) {
  const auto* message = json::find_object(entry.body, "message");
  return message ? json::find_string(*message, "role").value_or("") : "";
}

bool starts_turn(const Entry& entry) {
  if (entry.type == "branch_summary" || entry.type == "custom_message") return true;
  if (!is_message(entry)) return false;
  const auto role = role_of(entry);
  return role == "user" || role == "bashExecution";
}

std::size_t begin_of(std::span<const Entry* const> branch) {
  for (std::size_t i = branch.size(); i > 0; --i) {
    if (branch[i - 1]->type != "compaction") continue;
    const auto wanted = session::first_kept(*branch[i - 1]);
    for (std::size_t kept = i - 1; kept > 0; --kept)
      if (branch[kept - 1]->id.text == wanted) return kept - 1;
    return i;
  }
  return 0;
}

struct Point {
  bool valid = false;       // the branch may be cut before this entry
  std::int64_t tokens = 0;  // tokens of its message
};

std::vector<Point> points_of(std::span<const Entry* const> branch, std::size_t begin) {
  std::vector<Point> out(branch.size());
  std::set<std::string, std::less<>> open;  // calls without a result yet
  for (auto i = begin; i < branch.size(); ++i) {
    const auto& entry = *branch[i];
    if (!is_message(entry)) {
      out[i].valid =
          open.empty() && (entry.type == "branch_summary" || entry.type == "custom_message");
      continue;
    }
    const auto message = session::message_of(entry);
    if (!message) continue;
    out[i].tokens = estimate(*message);
    if (const auto* result = std::get_if<session::ToolResultMessage>(&*message)) {
      open.erase(result->tool_call_id);
      continue;
    }
    if (const auto* reply = std::get_if<session::AssistantMessage>(&*message)) {
      // A model that speaks again is done with its earlier calls, answered or not.
      open.clear();
      out[i].valid = true;
      for (const auto& block : reply->content)
        if (const auto* call = std::get_if<session::ToolCallBlock>(&block)) open.insert(call->id);
      continue;
    }
    out[i].valid = open.empty();
  }
  return out;
}

}  // namespace

std::int64_t tokens_of_last_turn(std::span<const Entry* const> branch) {
  const auto begin = begin_of(branch);
  const auto points = points_of(branch, begin);
  std::int64_t sum = 0;
  for (auto i = branch.size(); i > begin; --i) {
    sum += points[i - 1].tokens;
    if (starts_turn(*branch[i - 1]) && points[i - 1].tokens > 0) break;
  }
  return std::max<std::int64_t>(1, sum);
}

std::optional<Cut> choose_cut(std::span<const Entry* const> branch, CutLimits limits) {
  const auto begin = begin_of(branch);
  const auto points = points_of(branch, begin);
  const auto next_valid = [&](std::size_t from) {
    while (from < branch.size() && !points[from].valid) ++from;
    return from;
  };

  auto cut = next_valid(begin);
  std::int64_t kept = 0;
  for (auto i = branch.size(); i > begin; --i) {
    kept += points[i - 1].tokens;
    if (kept < limits.keep_recent) continue;
    cut = next_valid(i - 1);
    break;
  }
  const auto tokens_from = [&](std::size_t from) {
    std::int64_t sum = 0;
    for (; from < branch.size(); ++from) sum += points[from].tokens;
    return sum;
  };
  while (cut < branch.size() && tokens_from(cut) > limits.keep_max) cut = next_valid(cut + 1);
  // Settings and labels right before the kept part are kept with it.
  if (cut < branch.size())
    while (cut > begin && !is_message(*branch[cut - 1]) && branch[cut - 1]->type != "compaction")
      --cut;

  bool replaces = false;
  for (auto i = begin; i < cut; ++i) replaces = replaces || points[i].tokens > 0;
  if (!replaces) return std::nullopt;

  Cut out{begin, cut, cut};
  const bool at_user =
      cut == branch.size() || (is_message(*branch[cut]) && role_of(*branch[cut]) == "user");
  for (auto i = cut + 1; !at_user && i > begin; --i) {
    if (!starts_turn(*branch[i - 1])) continue;
    out.turn_start = i - 1;
    break;
  }
  return out;
}

}  // namespace reef::context
