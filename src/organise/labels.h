// The labels that a session may carry, from labels.toml: a tree of ids, some with a typed value,
// and the rules that add them automatically. Values and pure functions over the file's text.
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
  std::string name;    // shown to people
  std::string parent;  // empty at the top
  ValueType type = ValueType::none;
  std::string color;
};

// A label as a session carries it: `id` or `id::value`, split at the first `::`.
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
  // True for that label and all below it. A label that is not defined is within itself, too.
  bool is_within(std::string_view id, std::string_view ancestor) const;
  // 1 at the top.
  std::size_t depth(std::string_view id) const;
  // Checks that a session may be given it: it must be defined and its value must have the right
  // type.
  Status check(std::string_view entry) const;

 private:
  std::vector<Label> all_;
  std::map<std::string, std::size_t, std::less<>> by_id_;
  std::vector<Rule> rules_;
};

Result<Labels> parse_labels(std::string_view text, std::string_view file,
                            std::vector<std::string>& warnings);

// Each of these returns the file's text after the change; the rest of the text stays as it is.
Result<std::string> add_label(std::string_view text, const Label& label);
struct LabelChange {  // nullopt: unchanged; empty: removed
  std::optional<std::string> name, parent, type, color;
};
Result<std::string> set_label(std::string_view text, std::string_view id,
                              const LabelChange& change);
// Removes its rules, too; refused while other labels are below it.
Result<std::string> remove_label(std::string_view text, std::string_view id);
// Replaces the label's rule of the same pattern, if there is one.
Result<std::string> put_rule(std::string_view text, std::string_view label,
                             std::string_view pattern, std::string_view value);
Result<std::string> remove_rule(std::string_view text, std::string_view label,
                                std::string_view pattern);

}  // namespace reef::organise
