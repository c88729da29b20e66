#include "bus/subscriptions_file.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "bus/source.h"

namespace reef::bus {
namespace {

Error wrong(std::string_view file, const toml::node& node, std::string_view why) {
  return Error(Errc::invalid, fmt::format("{}:{}: {}", file, node.source().begin.line, why));
}

Result<Subscription> read_one(const toml::table& table, std::string_view file) {
  Subscription out;
  // A subscription added by hand may leave its id out.
  if (const auto* node = table.get("id")) {
    const auto id = node->value_exact<std::int64_t>();
    if (!id || *id <= 0) return wrong(file, *node, "id: must be a whole number above 0");
    out.id = static_cast<std::uint64_t>(*id);
  }
  const auto source = table["source"].value_exact<std::string>();
  if (!source) return wrong(file, table, "source: must be a text");
  if (const auto good = check_pattern(*source); !good) return wrong(file, table, good.error().what);
  out.source = *source;
  const auto agent = table["target_agent"].value_exact<std::string>();
  if (!agent || agent->empty()) return wrong(file, table, "target_agent: must be a text");
  out.target_agent = *agent;
  if (const auto* once = table.get("once")) {
    const auto flag = once->value_exact<bool>();
    if (!flag) return wrong(file, *once, "once: must be true or false");
    out.once = *flag;
  }
  return out;
}

Result<Subscriptions> read_all_of(const toml::table& root, std::string_view file) {
  Subscriptions out;
  if (const auto last = root["last_id"].value_exact<std::int64_t>(); last && *last > 0)
    out.last_id = static_cast<std::uint64_t>(*last);
  const auto* node = root.get("subscription");
  if (!node) return out;
  const auto* list = node->as_array();
  if (!list) return wrong(file, *node, "subscription: must be [[subscription]] tables");
  if (list->size() > kSubscriptionsMax)
    return wrong(file, *node, fmt::format("more than {} subscriptions", kSubscriptionsMax));
  std::set<std::uint64_t> ids;
  for (const auto& item : *list) {
    const auto* table = item.as_table();
    if (!table) return wrong(file, item, "subscription: must be [[subscription]] tables");
    REEF_TRY(auto one, read_one(*table, file));
    if (one.id > 0 && !ids.insert(one.id).second) return wrong(file, item, "id: is there twice");
    out.last_id = std::max(out.last_id, one.id);
    out.list.push_back(std::move(one));
  }
  for (auto& one : out.list)
    if (one.id == 0) one.id = ++out.last_id;
  return out;
}

bool says_the_same(const Subscription& a, const Subscription& b) {
  return a.source == b.source && a.target_agent == b.target_agent && a.once == b.once;
}

const Subscription* find(const std::vector<Subscription>& list, std::uint64_t id) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.id == id; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

Result<Subscriptions> parse_subscriptions(std::string_view text, std::string_view file) {
  try {
    return read_all_of(toml::parse(text, file), file);
  } catch (const toml::parse_error& error) {
    return Error(Errc::invalid,
                 fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
}

Subscriptions with_hand_edits(const Subscriptions& ours, const std::vector<Subscription>& base,
                              Subscriptions theirs) {
  Subscriptions out;
  out.last_id = std::max(ours.last_id, theirs.last_id);
  const auto is_new = [&](const Subscription& one) { return !find(base, one.id); };
  for (auto& one : theirs.list) {
    const auto* mine = find(ours.list, one.id);
    if (const auto* was = find(base, one.id)) {
      if (!mine) continue;  // removed here meanwhile
      if (says_the_same(*was, one)) one = *mine;
      one.delivered = mine->delivered;
      one.dropped = mine->dropped;
    } else {
      const bool made_here_too = std::any_of(
          ours.list.begin(), ours.list.end(),
          [&](const auto& other) { return is_new(other) && says_the_same(other, one); });
      if (made_here_too) continue;
      if (mine) one.id = ++out.last_id;
    }
    out.list.push_back(std::move(one));
  }
  for (const auto& one : ours.list)
    if (is_new(one)) out.list.push_back(one);
  return out;
}

std::string write_subscriptions(const Subscriptions& subscriptions) {
  toml::array list;
  for (const auto& one : subscriptions.list)
    list.push_back(toml::table{{"id", static_cast<std::int64_t>(one.id)},
                               {"source", one.source},
                               {"target_agent", one.target_agent},
                               {"once", one.once}});
  toml::table root{{"last_id", static_cast<std::int64_t>(subscriptions.last_id)}};
  if (!list.empty()) root.insert("subscription", std::move(list));
  std::ostringstream out;
  out << "# Which events start which agents; `reef events subscribe` and `rm` write this file.\n"
      << toml::toml_formatter(root) << "\n";
  return out.str();
}

}  // namespace reef::bus
