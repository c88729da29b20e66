// Statuses, labels, rules, views: lists with counts, and changes to one definition.

#include <fmt/format.h>

#include "base/notify.h"
#include "base/utf8.h"
#include "organise/definitions.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct OrganiseNeeds {
  session::Sessions& sessions;
  organise::Definitions& definitions;
  Clock& clock;
  static OrganiseNeeds of(const Node& node) {
    return {node.sessions, node.definitions, node.clock};
  }
};

using organise::Definitions;

std::optional<std::string> given(bool has, const std::string& value) {
  return has ? std::optional<std::string>(value) : std::nullopt;
}

template <class List>
void add_problems(List& out, const organise::Defined& defined) {
  for (const auto& problem : defined.problems) out.add_problems(problem);
}

Task<protocol::ServerMessage> list_statuses(OrganiseNeeds needs) {
  const auto defined = co_await needs.definitions.look();
  std::map<std::string_view, std::uint64_t> counts;
  needs.sessions.visit([&](const session::Row& row) {
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
std::map<std::string, std::uint64_t, std::less<>> label_counts(OrganiseNeeds needs,
                                                               const organise::Labels& labels) {
  std::map<std::string, std::uint64_t, std::less<>> counts;
  needs.sessions.visit([&](const session::Row& row) {
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

Task<protocol::ServerMessage> list_labels(OrganiseNeeds needs) {
  const auto defined = co_await needs.definitions.look();
  const auto& labels = defined->labels;
  auto counts = label_counts(needs, labels);
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

Task<protocol::ServerMessage> list_views(OrganiseNeeds needs) {
  const auto defined = co_await needs.definitions.look();
  protocol::ServerMessage message;
  auto& list = *message.mutable_view_list();
  for (const auto& view : defined->views.all()) {
    const organise::Look look{defined->statuses, defined->labels, needs.clock.now()};
    std::uint64_t count = 0;
    needs.sessions.visit([&](const session::Row& row) {
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

using List = Task<protocol::ServerMessage> (*)(OrganiseNeeds);

// Changes one file and answers with its list.
Task<protocol::ServerMessage> change(OrganiseNeeds needs, Definitions::Which which,
                                     Definitions::Edit edit, List list) {
  const auto done = co_await needs.definitions.change(which, std::move(edit));
  if (!done) co_return protocol::make_error(done.error());
  co_return co_await list(needs);
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

Task<protocol::ServerMessage> change_view(OrganiseNeeds needs, protocol::ChangeView request) {
  // A client that saves a filter must hear of a status that does not exist.
  if (request.has_filter()) {
    const auto defined = co_await needs.definitions.look();
    const auto checked = row_filter(defined, "", request.filter(), needs.clock.now());
    if (!checked) co_return protocol::make_error(checked.error());
  }
  auto edit = [request](std::string_view text) { return edit_view(request, text); };
  co_return co_await change(needs, Definitions::Which::views, edit, list_views);
}

protocol::Answer answer_list_statuses(OrganiseNeeds needs) {
  return protocol::answer_with(list_statuses(needs));
}

protocol::Answer answer_list_labels(OrganiseNeeds needs) {
  return protocol::answer_with(list_labels(needs));
}

protocol::Answer answer_list_views(OrganiseNeeds needs) {
  return protocol::answer_with(list_views(needs));
}

protocol::Answer answer_change_status(OrganiseNeeds needs, const protocol::ChangeStatus& request) {
  auto edit = [request](std::string_view text) { return edit_status(request, text); };
  return protocol::answer_with(change(needs, Definitions::Which::statuses, edit, list_statuses));
}

protocol::Answer answer_change_label(OrganiseNeeds needs, const protocol::ChangeLabel& request) {
  auto edit = [request](std::string_view text) { return edit_label(request, text); };
  return protocol::answer_with(change(needs, Definitions::Which::labels, edit, list_labels));
}

protocol::Answer answer_change_rule(OrganiseNeeds needs, const protocol::ChangeRule& request) {
  auto edit = [request](std::string_view text) { return edit_rule(request, text); };
  return protocol::answer_with(change(needs, Definitions::Which::labels, edit, list_labels));
}

protocol::Answer answer_change_view(OrganiseNeeds needs, const protocol::ChangeView& request) {
  return protocol::answer_with(change_view(needs, request));
}

}  // namespace

Operations organise_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListStatuses, Right::read, Messages::one, Naming::none, answered<answer_list_statuses>},
      {M::kChangeStatus, Right::admin, Messages::one, Naming::ledger,
       answered<&M::change_status, answer_change_status>},
      {M::kListLabels, Right::read, Messages::one, Naming::none, answered<answer_list_labels>},
      {M::kChangeLabel, Right::admin, Messages::one, Naming::ledger,
       answered<&M::change_label, answer_change_label>},
      {M::kChangeRule, Right::admin, Messages::one, Naming::ledger,
       answered<&M::change_rule, answer_change_rule>},
      {M::kListViews, Right::read, Messages::one, Naming::none, answered<answer_list_views>},
      {M::kChangeView, Right::admin, Messages::one, Naming::ledger,
       answered<&M::change_view, answer_change_view>},
  };
  return kRows;
}

}  // namespace reef::server
