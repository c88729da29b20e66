#include "organise/labels.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "organise/toml_blocks.h"

namespace reef::organise {
namespace {

constexpr std::size_t kLabelsMax = 1000;
constexpr std::size_t kRulesMax = 500;
constexpr std::string_view kFile = "labels.toml";

Fields fields_of(const Label& label) {
  return {{"id", label.id},
          {"name", label.name == label.id ? "" : label.name},
          {"parent", label.parent},
          {"type", std::string(name_of(label.type))},
          {"color", label.color}};
}

Fields fields_of(const Rule& rule) {
  return {{"label", rule.label}, {"pattern", rule.pattern}, {"value", rule.value}};
}

Error no_label(std::string_view id, const std::vector<Label>& all) {
  std::string known;
  for (const auto& label : all) known += fmt::format("{}{}", known.empty() ? "" : ", ", label.id);
  return Error(
      Errc::not_found,
      fmt::format("unknown label '{0}'; `reef labels add {0}` makes it{1}", utf8::excerpt(id),
                  known.empty() ? std::string() : "; there are: " + utf8::excerpt(known, 500)));
}

Result<ValueType> type_from(std::string_view name) {
  const auto type = value_type_from(name);
  if (type) return *type;
  return Error(Errc::invalid,
               fmt::format("type must be string, number or date, not '{}'", utf8::excerpt(name)));
}

// Checks that parents exist, that there is no cycle, and that the tree is not too deep.
Status check_tree(const std::vector<Label>& all) {
  std::map<std::string_view, const Label*> by_id;
  for (const auto& label : all) by_id.emplace(label.id, &label);
  for (const auto& label : all) {
    std::size_t depth = 1;
    for (const auto* at = &label; !at->parent.empty(); ++depth) {
      const auto above = by_id.find(at->parent);
      if (above == by_id.end())
        return Error(Errc::invalid, fmt::format("label '{}': its parent '{}' does not exist",
                                                at->id, utf8::excerpt(at->parent)));
      at = above->second;
      if (at == &label)
        return Error(Errc::invalid, fmt::format("label '{}' would stand below itself", label.id));
      if (depth >= kLabelDepthMax)
        return Error(Errc::invalid,
                     fmt::format("label '{}' is more than {} deep", label.id, kLabelDepthMax));
    }
  }
  return Ok{};
}

Result<Labels> read_labels(std::string_view text) {
  std::vector<std::string> ignored;
  return parse_labels(text, kFile, ignored);
}

std::optional<std::size_t> place_of(const Labels& labels, std::string_view id) {
  for (std::size_t i = 0; i < labels.all().size(); ++i)
    if (labels.all()[i].id == id) return i;
  return std::nullopt;
}

std::optional<std::size_t> place_of_rule(const Labels& labels, std::string_view label,
                                         std::string_view pattern) {
  const auto& rules = labels.rules();
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].label == label && rules[i].pattern == pattern) return i;
  return std::nullopt;
}

}  // namespace

LabelEntry split_entry(std::string_view entry) {
  const auto at = entry.find("::");
  if (at == std::string_view::npos) return {entry, std::nullopt};
  return {entry.substr(0, at), entry.substr(at + 2)};
}

Labels::Labels(std::vector<Label> all, std::vector<Rule> rules)
    : all_(std::move(all)), rules_(std::move(rules)) {
  for (std::size_t i = 0; i < all_.size(); ++i) by_id_.emplace(all_[i].id, i);
}

const Label* Labels::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &all_[found->second];
}

bool Labels::is_within(std::string_view id, std::string_view ancestor) const {
  for (std::size_t step = 0; step < kLabelDepthMax; ++step) {
    if (id == ancestor) return true;
    const auto* label = find(id);
    if (!label || label->parent.empty()) return false;
    id = label->parent;
  }
  return false;
}

std::size_t Labels::depth(std::string_view id) const {
  std::size_t depth = 1;
  for (const auto* label = find(id); label && !label->parent.empty(); label = find(label->parent))
    ++depth;
  return depth;
}

Status Labels::check(std::string_view entry) const {
  const auto [id, value] = split_entry(entry);
  const auto* label = find(id);
  if (!label) return no_label(id, all_);
  if (!value || is_of_type(label->type, *value)) return Ok{};
  if (label->type == ValueType::none)
    return Error(Errc::invalid, fmt::format("label '{}' takes no value, this is '{}'", label->id,
                                            utf8::excerpt(entry)));
  return Error(
      Errc::invalid,
      fmt::format("label '{}' takes a {}{}, not '{}'", label->id, name_of(label->type),
                  label->type == ValueType::date ? " like 2026-01-31" : "", utf8::excerpt(*value)));
}

Result<Labels> parse_labels(std::string_view text, std::string_view file,
                            std::vector<std::string>& warnings) {
  REEF_TRY(const auto root, parse_toml(text, file));
  std::vector<Label> all;
  std::vector<Rule> rules;
  std::map<std::string, bool, std::less<>> known;
  const auto read_label = [&](Block& block) {
    Label label;
    label.id = block.required("id");
    label.name = block.text("name");
    label.parent = block.text("parent");
    const auto type = type_from(block.text("type"));
    label.color = block.text("color");
    if (label.name.empty()) label.name = label.id;
    if (type) {
      label.type = *type;
    } else {
      block.refuse("type", type.error().what);
    }
    static_cast<void>(block.check(check_id("label", label.id)));
    if (!known.emplace(label.id, true).second)
      block.refuse("id", fmt::format("'{}' is there twice", label.id));
    all.push_back(std::move(label));
  };
  const auto read_rule = [&](Block& block) {
    auto label = block.required("label");
    auto pattern = block.required("pattern");
    auto value = block.text("value");
    if (!known.contains(label))
      block.refuse("label", fmt::format("there is no label '{}'", utf8::excerpt(label)));
    auto rule = make_rule(std::move(label), std::move(pattern), std::move(value));
    if (rule) {
      rules.push_back(*std::move(rule));
    } else {
      block.refuse("pattern", rule.error().what);
    }
  };
  REEF_CHECK(read_blocks(
      root, file, {{"label", kLabelsMax, read_label}, {"rule", kRulesMax, read_rule}}, warnings));
  auto tree = check_tree(all);
  if (!tree) return std::move(tree).error().with(file);
  return Labels(std::move(all), std::move(rules));
}

Result<std::string> add_label(std::string_view text, const Label& label) {
  REEF_TRY(const auto labels, read_labels(text));
  REEF_CHECK(check_id("label", label.id));
  if (labels.find(label.id))
    return Error(Errc::conflict, fmt::format("label '{}' exists", label.id));
  if (labels.all().size() >= kLabelsMax)
    return Error(Errc::too_large, fmt::format("{} labels are the most there may be", kLabelsMax));
  auto all = labels.all();
  all.push_back(label);
  REEF_CHECK(check_tree(all));
  const auto fields = fields_of(label);
  REEF_CHECK(check_fields(fields));
  return with_block(text, "label", std::nullopt, fields);
}

Result<std::string> set_label(std::string_view text, std::string_view id,
                              const LabelChange& change) {
  REEF_TRY(const auto labels, read_labels(text));
  const auto place = place_of(labels, id);
  if (!place) return no_label(id, labels.all());
  auto all = labels.all();
  auto& label = all[*place];
  if (change.name) label.name = *change.name;
  if (change.parent) label.parent = *change.parent;
  if (change.type) {
    REEF_TRY(label.type, type_from(*change.type));
  }
  if (change.color) label.color = *change.color;
  REEF_CHECK(check_tree(all));
  const auto fields = fields_of(label);
  REEF_CHECK(check_fields(fields));
  return with_block(text, "label", place, fields);
}

Result<std::string> remove_label(std::string_view text, std::string_view id) {
  REEF_TRY(const auto labels, read_labels(text));
  const auto place = place_of(labels, id);
  if (!place) return no_label(id, labels.all());
  for (const auto& label : labels.all())
    if (label.parent == id)
      return Error(Errc::conflict, fmt::format("label '{}' has '{}' below it; move or remove that "
                                               "first",
                                               id, label.id));
  auto out = without_block(text, "label", *place);
  const auto& rules = labels.rules();
  for (std::size_t i = rules.size(); i-- > 0;)
    if (rules[i].label == id) out = without_block(out, "rule", i);
  return out;
}

Result<std::string> put_rule(std::string_view text, std::string_view label,
                             std::string_view pattern, std::string_view value) {
  REEF_TRY(const auto labels, read_labels(text));
  if (!labels.find(label)) return no_label(label, labels.all());
  REEF_TRY(const auto rule,
           make_rule(std::string(label), std::string(pattern), std::string(value)));
  const auto fields = fields_of(rule);
  REEF_CHECK(check_fields(fields));
  const auto place = place_of_rule(labels, label, pattern);
  if (!place && labels.rules().size() >= kRulesMax)
    return Error(Errc::too_large, fmt::format("{} rules are the most there may be", kRulesMax));
  return with_block(text, "rule", place, fields);
}

Result<std::string> remove_rule(std::string_view text, std::string_view label,
                                std::string_view pattern) {
  REEF_TRY(const auto labels, read_labels(text));
  const auto place = place_of_rule(labels, label, pattern);
  if (!place)
    return Error(Errc::not_found, fmt::format("label '{}' has no rule with the pattern '{}'",
                                              utf8::excerpt(label), utf8::excerpt(pattern)));
  return without_block(text, "rule", *place);
}

}  // namespace reef::organise
