#include "exchange/outline.h"

#include <algorithm>
#include <unordered_map>

namespace reef::exchange {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

bool is_shown(const session::Entry& entry) {
  if (entry.type == "message") return json::find_object(entry.body, "message") != nullptr;
  if (entry.type == "custom_message") return json::find_bool(entry.body, "display").value_or(true);
  if (entry.type == "compaction" || entry.type == "branch_summary")
    return !json::find_string(entry.body, "summary").value_or("").empty();
  return false;
}

std::string_view role_in(const session::Entry& entry) {
  const auto* message = json::find_object(entry.body, "message");
  return message ? json::find_string(*message, "role").value_or("") : "";
}

std::vector<std::string> call_ids(const session::Entry& entry) {
  std::vector<std::string> ids;
  if (role_in(entry) != "assistant") return ids;
  const auto* blocks = json::find_array(*json::find_object(entry.body, "message"), "content");
  if (!blocks) return ids;
  for (const auto& block : *blocks) {
    const auto* object = block.if_object();
    if (!object || json::find_string(*object, "type") != "toolCall") continue;
    if (const auto id = json::find_string(*object, "id")) ids.emplace_back(*id);
  }
  return ids;
}

// The shape of the tree; entries are named by their place in the file.
struct Tree {
  std::vector<std::size_t> first_child, next_sibling;
  std::vector<std::size_t> newest;  // the last place in the part below, itself included
  std::vector<std::size_t> shown;   // how many of that part are shown
  std::size_t first_root = kNone;
};

Tree tree_of(const session::Transcript& transcript) {
  const auto& entries = transcript.entries();
  const auto count = entries.size();
  Tree tree{std::vector(count, kNone), std::vector(count, kNone), std::vector(count, kNone),
            std::vector(count, std::size_t{0}), kNone};
  // Every parent stands before its children, so this loop goes from the leaves up.
  for (std::size_t i = count; i-- > 0;) {
    if (tree.newest[i] == kNone) tree.newest[i] = i;
    if (is_shown(entries[i])) ++tree.shown[i];
    const auto parent = transcript.parents()[i];
    auto& first = parent < count ? tree.first_child[parent] : tree.first_root;
    tree.next_sibling[i] = first;
    first = i;
    if (parent >= count) continue;
    if (tree.newest[parent] == kNone || tree.newest[parent] < tree.newest[i])
      tree.newest[parent] = tree.newest[i];
    tree.shown[parent] += tree.shown[i];
  }
  return tree;
}

class Walk {
 public:
  explicit Walk(const session::Transcript& transcript)
      : transcript_(transcript), tree_(tree_of(transcript)) {}

  std::vector<Step> run() {
    const auto main = newest_of(tree_.first_root);
    if (main == kNone) return {};
    // The stack is worked from its end: the current branch comes first, then the other roots.
    leave_others(tree_.first_root, main, 0, 0);
    stack_.push_back(Strand{main, 0, false, false, {}});
    while (!stack_.empty()) step();
    return std::move(steps_);
  }

 private:
  // A path down the tree that always follows the newest entry.
  struct Strand {
    std::size_t at;
    std::size_t depth;
    bool is_branch;
    bool opened;
    std::unordered_map<std::string, std::size_t> calls;  // calls without a result yet -> their step
  };

  std::size_t newest_of(std::size_t first) const {
    std::size_t best = first;
    for (auto i = first; i != kNone; i = tree_.next_sibling[i])
      if (tree_.newest[i] > tree_.newest[best]) best = i;
    return best;
  }

  // Puts the strands beside `taken` onto the stack, `below` places from its end.
  void leave_others(std::size_t first, std::size_t taken, std::size_t depth, std::size_t below) {
    std::vector<Strand> others;
    for (auto i = first; i != kNone; i = tree_.next_sibling[i])
      if (i != taken && tree_.shown[i] > 0) others.push_back(Strand{i, depth, true, false, {}});
    std::reverse(others.begin(), others.end());
    stack_.insert(stack_.end() - static_cast<std::ptrdiff_t>(below),
                  std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  }

  void step() {
    auto& strand = stack_.back();
    if (strand.is_branch && !strand.opened) {
      strand.opened = true;
      steps_.push_back(
          Step{Step::Kind::open, &transcript_.entries()[strand.at], {}, tree_.shown[strand.at]});
    }
    if (strand.at == kNone) {
      if (strand.is_branch) steps_.push_back(Step{Step::Kind::close, nullptr, {}, 0});
      stack_.pop_back();
      return;
    }
    const auto& entry = transcript_.entries()[strand.at];
    if (is_shown(entry)) show(strand, entry);
    const auto first = tree_.first_child[strand.at];
    const auto next = newest_of(first);
    strand.at = next;
    // On top of the stack they come next, inside this strand; below it they come after it has
    // ended.
    const bool inside = strand.depth < kBranchDepthMax;
    leave_others(first, next, strand.depth + (inside ? 1 : 0), inside ? 0 : 1);
  }

  void show(Strand& strand, const session::Entry& entry) {
    if (role_in(entry) == "toolResult") {
      const auto* message = json::find_object(entry.body, "message");
      const auto call =
          strand.calls.find(std::string(json::find_string(*message, "toolCallId").value_or("")));
      if (call != strand.calls.end()) {
        steps_[call->second].results.push_back(&entry);
        strand.calls.erase(call);
        return;
      }
    } else {
      strand.calls.clear();
      for (auto& id : call_ids(entry)) strand.calls.emplace(std::move(id), steps_.size());
    }
    steps_.push_back(Step{Step::Kind::item, &entry, {}, 0});
  }

  const session::Transcript& transcript_;
  const Tree tree_;
  std::vector<Strand> stack_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> outline(const session::Transcript& transcript) {
  return Walk(transcript).run();
}

}  // namespace reef::exchange
