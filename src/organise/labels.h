// The labels a session may carry: a tree of ids, some with a typed value, and the rules that add
// them by themselves: labels.toml. Values and pure functions over the file's text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "organise/rules.h"
#include "organise/values.h"

namespace reef::organise {

inline constexpr std::size_t kLabelDepthMax = 5;

struct Label {
  std::string id;
  std::string name;    // what is shown
  std::string parent;  // empty: at the top
  ValueType type = ValueType::none;
  std::string color;
};

// What a session carries: `id` or `id::value`, split at the first `::`.
struct LabelEntry {
  std::string_view id;
  std::optional<std::string_view> value;
};
LabelEntry split_entry(std::string_view entry);

class Labels {
 public:
  Labels() = default;
  Labels(std::vector<Label> all, std::vector<Rule> rules);

  const std::vector<Label>& all() const { return all_; }  // parents before or after their children
  const std::vector<Rule>& rules() const { return rules_; }
  const Label* find(std::string_view id) const;
  // It is that label, or one below it. Also true of a label that is not defined and itself.
  bool is_within(std::string_view id, std::string_view ancestor) const;
  // 1 at the top.
  std::size_t depth(std::string_view id) const;
  // Whether a session may be given it: defined, and with a value its type takes.
  Status check(std::string_view entry) const;

 private:
  std::vector<Label> all_;
  std::map<std::string, std::size_t, std::less<>> by_id_;
  std::vector<Rule> rules_;
};

Result<Labels> parse_labels(std::string_view text, std::string_view file,
                            std::vector<std::string>& warnings);

// The text of the file after the change; the rest of it stays as it is.
Result<std::string> add_label(std::string_view text, const Label& label);
struct LabelChange {  // nothing: stays; empty: none
  std::optional<std::string> name, parent, type, color;
};
Result<std::string> set_label(std::string_view text, std::string_view id,
                              const LabelChange& change);
// With its rules; refused while others stand below it.
Result<std::string> remove_label(std::string_view text, std::string_view id);
// A second rule of the same pattern takes the place of the first.
Result<std::string> put_rule(std::string_view text, std::string_view label,
                             std::string_view pattern, std::string_view value);
Result<std::string> remove_rule(std::string_view text, std::string_view label,
                                std::string_view pattern);

}  // namespace reef::organise
