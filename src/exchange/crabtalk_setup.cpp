#include "exchange/crabtalk_setup.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "exchange/source.h"

namespace reef::exchange {
namespace {

json::value to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    json::object out;
    for (const auto& [key, value] : *table) out[key.str()] = to_json(value);
    return out;
  }
  if (const auto* list = node.as_array()) {
    json::array out;
    for (const auto& value : *list) out.push_back(to_json(value));
    return out;
  }
  if (const auto* text = node.as_string()) return json::value(text->get());
  if (const auto* number = node.as_integer()) return json::value(number->get());
  if (const auto* number = node.as_floating_point()) return json::value(number->get());
  if (const auto* flag = node.as_boolean()) return json::value(flag->get());
  std::ostringstream other;  // dates and times
  node.visit([&](const auto& value) { other << value; });
  return json::value(other.str());
}

// nullopt when the file is not there, or is a problem.
std::optional<toml::table> read_toml(Files& files, const std::string& path, Intake& intake) {
  const auto text = read_source(files, path);
  if (!text) {
    if (text.error().code != Errc::not_found) intake.problem({path, 0, text.error().what});
    return std::nullopt;
  }
  intake.consumed(text->size());
  try {
    return toml::parse(*text);
  } catch (const toml::parse_error& error) {
    intake.problem({path, error.source().begin.line, std::string(error.description())});
    return std::nullopt;
  }
}

// A ULID, and so nothing that leads out of its folder.
bool is_agent_id(std::string_view id) {
  return id.size() == 26 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

Status read_agents(Files& files, const std::string& root, Intake& intake) {
  const auto path = root + "/local/settings.toml";
  const auto settings = read_toml(files, path, intake);
  if (!settings) return Ok{};
  const auto* agents = settings->get_as<toml::table>("agents");
  if (!agents) return Ok{};
  for (const auto& [name, node] : *agents) {
    if (!node.is_table()) {
      intake.problem({path, node.source().begin.line,
                      fmt::format("agent '{}' is not a table", std::string_view(name.str()))});
      continue;
    }
    Definition agent;
    agent.kind = Definition::Kind::agent;
    agent.name = name.str();
    agent.body = std::move(to_json(node).get_object());
    const auto id = json::find_string(agent.body, "id").value_or("");
    if (is_agent_id(id)) {
      const auto prompt_path = fmt::format("{}/agents/{}/prompt.md", root, id);
      auto prompt = read_source(files, prompt_path);
      if (prompt) {
        intake.consumed(prompt->size());
        agent.text = *std::move(prompt);
      } else if (prompt.error().code != Errc::not_found) {
        intake.problem({prompt_path, 0, prompt.error().what});
      }
    }
    REEF_CHECK(intake.define(std::move(agent)));
  }
  return Ok{};
}

// [[list]] tables with an id each.
Status read_list(Files& files, const std::string& path, std::string_view list,
                 Definition::Kind kind, Intake& intake) {
  const auto table = read_toml(files, path, intake);
  if (!table) return Ok{};
  const auto* rows = table->get_as<toml::array>(list);
  if (!rows) return Ok{};
  for (const auto& row : *rows) {
    if (!row.is_table()) {
      intake.problem({path, row.source().begin.line, fmt::format("'{}' is not a table", list)});
      continue;
    }
    Definition definition;
    definition.kind = kind;
    definition.body = std::move(to_json(row).get_object());
    const auto* id = definition.body.if_contains("id");
    definition.name = !id               ? fmt::format("line {}", row.source().begin.line)
                      : id->is_string() ? std::string(id->get_string())
                                        : json::write(*id);
    REEF_CHECK(intake.define(std::move(definition)));
  }
  return Ok{};
}

}  // namespace

Archives read_crabtalk_archives(Files& files, const std::string& root, Intake& intake) {
  Archives out;
  const auto path = root + "/memory.db";
  const auto bytes = read_source(files, path);
  if (!bytes) {
    if (bytes.error().code != Errc::not_found) intake.problem({path, 0, bytes.error().what});
    return out;
  }
  intake.consumed(bytes->size());
  const auto contents = memory::parse(*bytes);
  if (!contents) {
    intake.problem({path, 0, contents.error().what});
    return out;
  }
  for (const auto& entry : contents->entries)
    if (entry->kind == memory::Kind::archive) out.emplace(entry->name, entry);
  // A name is stronger than an alias.
  for (const auto& entry : contents->entries)
    if (entry->kind == memory::Kind::archive)
      for (const auto& alias : entry->aliases) out.emplace(alias, entry);
  return out;
}

Status read_crabtalk_setup(Files& files, const std::string& root, Intake& intake) {
  REEF_CHECK(read_agents(files, root, intake));
  REEF_CHECK(read_list(files, root + "/events/subscriptions.toml", "subscription",
                       Definition::Kind::subscription, intake));
  return read_list(files, root + "/config/crons.toml", "cron", Definition::Kind::cron, intake);
}

}  // namespace reef::exchange
