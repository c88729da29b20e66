#include "daemon/import_definitions.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::daemon {
namespace {

using organise::Definitions;

std::string text_in(const json::object& body, std::string_view name) {
  return std::string(json::find_string(body, name).value_or(""));
}

Result<std::string> with_status(std::string_view text, const exchange::Definition& in) {
  organise::SessionStatus status;
  status.id = in.name;
  status.label = text_in(in.body, "label");
  status.color = text_in(in.body, "color");
  status.icon = text_in(in.body, "icon");
  REEF_TRY(status.closed, organise::closed_from(text_in(in.body, "category")));
  return organise::add_status(text, status);
}

// `left_out` becomes the error of the last rule that is not valid here.
Result<std::string> with_label(std::string_view text, const exchange::Definition& in,
                               std::optional<Error>& left_out) {
  organise::Label label;
  label.id = in.name;
  label.name = text_in(in.body, "name");
  label.parent = text_in(in.body, "parent");
  label.color = text_in(in.body, "color");
  const auto type = organise::value_type_from(text_in(in.body, "type"));
  if (!type)
    return Error(Errc::invalid, fmt::format("its type '{}' is not string, number or date",
                                            utf8::excerpt(text_in(in.body, "type"))));
  label.type = *type;
  REEF_TRY(auto out, organise::add_label(text, label));
  const auto* rules = json::find_array(in.body, "rules");
  if (!rules) return out;
  for (const auto& item : *rules) {
    const auto* rule = item.if_object();
    if (!rule) continue;
    // Craft ignores case unless a rule says otherwise.
    const auto flags = json::find_string(*rule, "flags").value_or("gi");
    const bool any_case = flags.find('i') != std::string_view::npos;
    const auto pattern = (any_case ? "(?i)" : "") + text_in(*rule, "pattern");
    auto added = organise::put_rule(out, label.id, pattern, text_in(*rule, "value"));
    if (added) {
      out = *std::move(added);
    } else {
      left_out = std::move(added).error().with("its rule");
    }
  }
  return out;
}

}  // namespace

Task<Result<bool>> keep_definition(Definitions& definitions, exchange::Definition definition) {
  const auto known = co_await definitions.look();
  if (definition.kind == exchange::Definition::Kind::status) {
    if (known->statuses.find(definition.name)) co_return false;
    auto edit = [&](std::string_view text) { return with_status(text, definition); };
    REEF_CO_CHECK(co_await definitions.change(Definitions::Which::statuses, edit));
    co_return true;
  }
  if (known->labels.find(definition.name)) co_return false;
  std::optional<Error> left_out;
  auto edit = [&](std::string_view text) { return with_label(text, definition, left_out); };
  REEF_CO_CHECK(co_await definitions.change(Definitions::Which::labels, edit));
  if (left_out) co_return *left_out;
  co_return true;
}

Task<Result<bool>> keep_archive(memory::Memories& memories, exchange::Definition archive) {
  REEF_CO_TRY(const auto memory, memories.of(text_in(archive.body, "agent")));
  REEF_CO_TRY(const auto contents, co_await memory->contents());
  if (const auto there = contents->find(archive.name)) {
    if (there->content == archive.text) co_return false;
    co_return Error(Errc::conflict, fmt::format("the memory has another '{}'", archive.name));
  }
  const auto created = json::find_int(archive.body, "created_at").value_or(0);
  const bool note = archive.kind == exchange::Definition::Kind::note;
  std::vector<std::string> aliases;
  if (const auto* list = json::find_array(archive.body, "aliases"))
    for (const auto& alias : *list)
      // An alias that is taken keeps its meaning.
      if (alias.is_string() && !contents->find(alias.get_string()))
        aliases.emplace_back(alias.get_string());
  memory::Add add{archive.name, archive.text, std::move(aliases),
                  note ? memory::Kind::note : memory::Kind::archive,
                  static_cast<std::uint64_t>(std::max<std::int64_t>(0, created))};
  REEF_CO_CHECK(co_await memory->apply(std::move(add)));
  co_return true;
}

Task<Result<bool>> keep_note(memory::Memories& memories, const runtime::Setup& setup,
                             exchange::Definition note) {
  const auto agent = text_in(note.body, "agent");
  const bool comes = json::find_bool(note.body, "agent_comes").value_or(false);
  if (agent == "crab" && !comes && !setup.agents.contains(agent))
    note.body["agent"] = setup.default_agent;
  return keep_archive(memories, std::move(note));
}

Task<Result<bool>> keep_subscription(bus::Bus& bus, std::function<Task<Status>()> reload_agents,
                                     exchange::Definition subscription) {
  const auto source = text_in(subscription.body, "source");
  const auto agent = text_in(subscription.body, "target_agent");
  for (const auto& known : bus.list())
    if (known.source == source && known.target_agent == agent) co_return false;
  const bool once = json::find_bool(subscription.body, "once").value_or(false);
  auto done = co_await bus.subscribe(source, agent, once);
  if (!done && done.error().code == Errc::not_found) {
    REEF_CO_CHECK(co_await reload_agents());
    done = co_await bus.subscribe(source, agent, once);
  }
  if (!done) co_return std::move(done).error();
  co_return true;
}

std::string permission_mode_of(const runtime::Setup& setup, const std::string& agent,
                               const std::string& sender, const std::string& key) {
  const auto found = setup.find(agent);
  const runtime::Agent fresh;
  const auto& own = found ? *found : fresh;
  return std::string(runtime::name_of(runtime::is_local(sender, key) ? own.permission_mode
                                                                     : own.remote_permission_mode));
}

}  // namespace reef::daemon
