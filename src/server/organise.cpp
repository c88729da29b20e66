// Statuses, labels, rules, views: lists with counts, and changes to one definition.

#include <fmt/format.h>

#include "base/notify.h"
#include "base/utf8.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

using organise::Definitions;

std::optional<std::string> given(bool has, const std::string& value) {
  return has ? std::optional<std::string>(value) : std::nullopt;
}

template <class List>
void add_problems(List& out, const organise::Defined& defined) {
  for (const auto& problem : defined.problems) out.add_problems(problem);
}

Task<protocol::ServerMessage> list_statuses(Node& node) {
  const auto defined = co_await node.definitions.look();
  std::map<std::string_view, std::uint64_t> counts;
  node.sessions.visit([&](const session::Row& row) {
    ++counts[defined->statuses.shown(row.text("sessionStatus"))];
  });
  protocol::ServerMessage message;
  auto& list = *message.mutable_status_list();
  for (const auto& status : defined->statuses.all()) {
    auto& out = *list.add_statuses();
    out.set_id(status.id);
    out.set_label(status.label);
    out.set_category(status.closed ? "closed" : "open");
    out.set_color(status.color);
    out.set_icon(status.icon);
    out.set_fixed(status.fixed());
    out.set_sessions(counts[status.id]);
  }
  add_problems(list, *defined);
  co_return message;
}

// How many sessions carry each label or one below it; a session counts once.
std::map<std::string, std::uint64_t, std::less<>> label_counts(Node& node,
                                                               const organise::Labels& labels) {
  std::map<std::string, std::uint64_t, std::less<>> counts;
  node.sessions.visit([&](const session::Row& row) {
    const auto* entries = json::find_array(row.meta, "labels");
    if (!entries) return;
    std::set<std::string_view> seen;
    for (const auto& entry : *entries) {
      if (!entry.is_string()) continue;
      const auto* label =
          labels.find(organise::split_entry(std::string_view(entry.get_string())).id);
      for (; label; label = labels.find(label->parent)) seen.insert(label->id);
    }
    for (const auto id : seen) ++counts[std::string(id)];
  });
  return counts;
}

Task<protocol::ServerMessage> list_labels(Node& node) {
  const auto defined = co_await node.definitions.look();
  const auto& labels = defined->labels;
  auto counts = label_counts(node, labels);
  protocol::ServerMessage message;
  auto& list = *message.mutable_label_list();
  const auto add = [&](const organise::Label& label) {
    auto& out = *list.add_labels();
    out.set_id(label.id);
    out.set_name(label.name);
    out.set_parent(label.parent);
    out.set_type(std::string(organise::name_of(label.type)));
    out.set_color(label.color);
    out.set_sessions(counts[label.id]);
    for (const auto& rule : labels.rules()) {
      if (rule.label != label.id) continue;
      auto& made = *out.add_rules();
      made.set_pattern(rule.pattern);
      made.set_value(rule.value);
    }
  };
  // Lists the tree from the top, each parent before its children, in the order of the file.
  std::multimap<std::string_view, const organise::Label*> below;
  for (const auto& label : labels.all()) below.emplace(label.parent, &label);
  std::vector<const organise::Label*> next;
  const auto push = [&](std::string_view parent) {
    const auto [begin, end] = below.equal_range(parent);
    std::vector<const organise::Label*> children;
    for (auto at = begin; at != end; ++at) children.push_back(at->second);
    next.insert(next.end(), children.rbegin(), children.rend());
  };
  push("");
  while (!next.empty()) {
    const auto* label = next.back();
    next.pop_back();
    add(*label);
    push(label->id);
  }
  add_problems(list, *defined);
  co_return message;
}

Task<protocol::ServerMessage> list_views(Node& node) {
  const auto defined = co_await node.definitions.look();
  protocol::ServerMessage message;
  auto& list = *message.mutable_view_list();
  for (const auto& view : defined->views.all()) {
    const organise::Look look{defined->statuses, defined->labels, SystemClock().now()};
    std::uint64_t count = 0;
    node.sessions.visit([&](const session::Row& row) {
      if (organise::holds(view.parsed, row, look)) ++count;
    });
    auto& out = *list.add_views();
    out.set_id(view.id);
    out.set_name(view.name);
    out.set_filter(view.filter);
    out.set_builtin(view.builtin);
    out.set_sessions(count);
    co_await yield_to_loop();
  }
  add_problems(list, *defined);
  co_return message;
}

using List = Task<protocol::ServerMessage> (*)(Node&);

// Changes one file and answers with its list.
Task<protocol::ServerMessage> change(Node& node, Definitions::Which which, Definitions::Edit edit,
                                     List list) {
  const auto done = co_await node.definitions.change(which, std::move(edit));
  if (!done) co_return protocol::make_error(done.error());
  co_return co_await list(node);
}

Result<std::string> edit_status(const protocol::ChangeStatus& request, std::string_view text) {
  organise::StatusChange wanted;
  wanted.label = given(request.has_label(), request.label());
  wanted.category = given(request.has_category(), request.category());
  wanted.color = given(request.has_color(), request.color());
  wanted.icon = given(request.has_icon(), request.icon());
  switch (request.change()) {
    case protocol::DEFINITION_CHANGE_ADD: {
      REEF_TRY(const auto closed, organise::closed_from(request.category()));
      return organise::add_status(
          text, {request.id(), request.label(), closed, request.color(), request.icon()});
    }
    case protocol::DEFINITION_CHANGE_SET:
      return organise::set_status(text, request.id(), wanted);
    case protocol::DEFINITION_CHANGE_REMOVE:
      return organise::remove_status(text, request.id());
    default:
      return Error(Errc::invalid, "unknown kind of change");
  }
}

Result<std::string> edit_label(const protocol::ChangeLabel& request, std::string_view text) {
  organise::LabelChange wanted;
  wanted.name = given(request.has_name(), request.name());
  wanted.parent = given(request.has_parent(), request.parent());
  wanted.type = given(request.has_type(), request.type());
  wanted.color = given(request.has_color(), request.color());
  switch (request.change()) {
    case protocol::DEFINITION_CHANGE_ADD: {
      const auto type = organise::value_type_from(request.type());
      if (!type)
        return Error(Errc::invalid, fmt::format("type must be string, number or date, not '{}'",
                                                utf8::excerpt(request.type())));
      return organise::add_label(
          text, {request.id(), request.name(), request.parent(), *type, request.color()});
    }
    case protocol::DEFINITION_CHANGE_SET:
      return organise::set_label(text, request.id(), wanted);
    case protocol::DEFINITION_CHANGE_REMOVE:
      return organise::remove_label(text, request.id());
    default:
      return Error(Errc::invalid, "unknown kind of change");
  }
}

Result<std::string> edit_rule(const protocol::ChangeRule& request, std::string_view text) {
  switch (request.change()) {
    case protocol::DEFINITION_CHANGE_ADD:
    case protocol::DEFINITION_CHANGE_SET:
      return organise::put_rule(text, request.label(), request.pattern(), request.value());
    case protocol::DEFINITION_CHANGE_REMOVE:
      return organise::remove_rule(text, request.label(), request.pattern());
    default:
      return Error(Errc::invalid, "unknown kind of change");
  }
}

Result<std::string> edit_view(const protocol::ChangeView& request, std::string_view text) {
  organise::ViewChange wanted;
  wanted.name = given(request.has_name(), request.name());
  wanted.filter = given(request.has_filter(), request.filter());
  switch (request.change()) {
    case protocol::DEFINITION_CHANGE_ADD: {
      organise::View view;
      view.id = request.id();
      view.name = request.name();
      view.filter = request.filter();
      return organise::add_view(text, view);
    }
    case protocol::DEFINITION_CHANGE_SET:
      return organise::set_view(text, request.id(), wanted);
    case protocol::DEFINITION_CHANGE_REMOVE:
      return organise::remove_view(text, request.id());
    default:
      return Error(Errc::invalid, "unknown kind of change");
  }
}

Task<protocol::ServerMessage> change_view(Node& node, protocol::ChangeView request) {
  // A client that saves a filter must hear of a status that does not exist.
  if (request.has_filter()) {
    const auto defined = co_await node.definitions.look();
    const auto checked = row_filter(defined, "", request.filter());
    if (!checked) co_return protocol::make_error(checked.error());
  }
  auto edit = [request](std::string_view text) { return edit_view(request, text); };
  co_return co_await change(node, Definitions::Which::views, edit, list_views);
}

}  // namespace

Result<RowFilter> row_filter(std::shared_ptr<const organise::Defined> defined,
                             const std::string& view, const std::string& where, TimePoint now) {
  organise::Filter filter;
  if (!view.empty()) {
    REEF_TRY(const auto* found, defined->views.find(view));
    if (!found->parsed.parts.empty() || found->parsed.kind == organise::Filter::Kind::term)
      filter.parts.push_back(found->parsed);
  }
  if (where.find_first_not_of(" \t\r\n") != std::string::npos) {
    REEF_TRY(auto typed, organise::parse_filter(where));
    REEF_CHECK(organise::check_filter(typed, defined->statuses, defined->labels));
    filter.parts.push_back(std::move(typed));
  }
  // Without anything to compare there is no test: the list of everything is the fastest.
  if (filter.parts.empty()) return RowFilter();
  return RowFilter(
      [defined = std::move(defined), filter = std::move(filter), now](const session::Row& row) {
        return organise::holds(filter, row, {defined->statuses, defined->labels, now});
      });
}

namespace {

protocol::Answer answer_list_statuses(Node& node) {
  return protocol::answer_with(list_statuses(node));
}

protocol::Answer answer_list_labels(Node& node) {
  return protocol::answer_with(list_labels(node));
}

protocol::Answer answer_list_views(Node& node) {
  return protocol::answer_with(list_views(node));
}

protocol::Answer answer_change_status(Node& node, const protocol::ChangeStatus& request) {
  auto edit = [request](std::string_view text) { return edit_status(request, text); };
  return protocol::answer_with(change(node, Definitions::Which::statuses, edit, list_statuses));
}

protocol::Answer answer_change_label(Node& node, const protocol::ChangeLabel& request) {
  auto edit = [request](std::string_view text) { return edit_label(request, text); };
  return protocol::answer_with(change(node, Definitions::Which::labels, edit, list_labels));
}

protocol::Answer answer_change_rule(Node& node, const protocol::ChangeRule& request) {
  auto edit = [request](std::string_view text) { return edit_rule(request, text); };
  return protocol::answer_with(change(node, Definitions::Which::labels, edit, list_labels));
}

protocol::Answer answer_change_view(Node& node, const protocol::ChangeView& request) {
  return protocol::answer_with(change_view(node, request));
}

}  // namespace

Operations organise_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListStatuses, Right::read, Answers::once,
       [](const Asked& asked) { return answer_list_statuses(asked.node); }},
      {M::kChangeStatus, Right::admin, Answers::once,
       answered<&M::change_status, answer_change_status>},
      {M::kListLabels, Right::read, Answers::once,
       [](const Asked& asked) { return answer_list_labels(asked.node); }},
      {M::kChangeLabel, Right::admin, Answers::once,
       answered<&M::change_label, answer_change_label>},
      {M::kChangeRule, Right::admin, Answers::once, answered<&M::change_rule, answer_change_rule>},
      {M::kListViews, Right::read, Answers::once,
       [](const Asked& asked) { return answer_list_views(asked.node); }},
      {M::kChangeView, Right::admin, Answers::once, answered<&M::change_view, answer_change_view>},
  };
  return kRows;
}

}  // namespace reef::server
