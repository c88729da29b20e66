#include "exchange/crabtalk/setup.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "exchange/crabtalk/cron.h"
#include "exchange/foreign_file.h"

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

// nullopt when the file is not there, or cannot be read, which is reported.
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

// A ULID, which cannot lead out of its folder.
bool is_agent_id(std::string_view id) {
  return id.size() == 26 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

// The only tools a scoped agent always had in CrabTalk (crabtalk.md 3.5).
constexpr std::string_view kScopedTools[] = {"ask_user", "delegate", "edit",     "forget",
                                             "read",     "recall",   "remember", "search_sessions"};

// Translates an agent's scope into our whitelists. MCP servers run programs, so they are not taken
// from a file, and words banned from commands have no counterpart; `left_out` names both.
void translate_scope(json::object& body) {
  // Looked at once, before the body changes: its members move.
  const auto has_some = [&](const char* list) {
    const auto* found = json::find_array(body, list);
    return found && !found->empty();
  };
  const bool has_skills = has_some("skills"), has_servers = has_some("mcps");
  const bool scoped = has_skills || has_servers;
  const auto* hooks = json::find_object(body, "hooks");
  const auto* bash = hooks ? json::find_object(*hooks, "bash") : nullptr;
  const bool no_bash = bash && json::find_bool(*bash, "disabled").value_or(false);
  std::string left_out;
  if (has_servers) left_out = "its MCP servers, which run programs; reef mcp add brings them back";
  if (const auto* deny = bash ? json::find_array(*bash, "deny") : nullptr;
      deny && !deny->empty() && !no_bash)
    left_out += std::string(left_out.empty() ? "" : "; ") +
                "the words its commands must not hold; every change is asked about instead";
  json::array tools;
  if (scoped || no_bash) {
    for (const auto tool : kScopedTools) tools.emplace_back(tool);
    if (!no_bash) tools.emplace_back("bash");
    if (!scoped || has_skills) tools.emplace_back("skill");
  }
  body.erase("tools");
  if (!tools.empty()) body["tools"] = std::move(tools);
  if (const auto* skills = json::find_array(body, "skills"); skills && skills->empty())
    body.erase("skills");
  if (!left_out.empty()) body["left_out"] = left_out;
}

// Reads the servers by name from the places they had before agents held them by value (RFC 0193).
json::object old_servers(Files& files, const std::string& root, const toml::table& settings,
                         const std::optional<toml::table>& config, Intake& intake) {
  json::object out;
  const auto take = [&](const toml::table* servers) {
    if (!servers) return;
    for (const auto& [name, node] : *servers)
      if (node.is_table() && !out.contains(name.str())) {
        out[name.str()] = to_json(node);
        out[name.str()].get_object()["name"] = name.str();
      }
  };
  take(settings.get_as<toml::table>("mcps"));
  if (config) take(config->get_as<toml::table>("mcps"));
  for (const auto* place : {"/local/CrabTalk.toml", "/mcps.toml"}) {
    const auto file = read_toml(files, root + place, intake);
    if (file) take(file->get_as<toml::table>("mcps"));
  }
  return out;
}

// Replaces names by the servers they mean, as CrabTalk does with old files at its start. An unknown
// name stays, because it still limits the agent.
void give_by_value(json::object& agent, const json::object& servers, const std::string& path,
                   const std::string& name, Intake& intake) {
  auto* list = agent.if_contains("mcps");
  if (!list || !list->is_array()) return;
  for (auto& one : list->get_array()) {
    const auto* wanted = one.if_string();
    if (!wanted) continue;
    if (const auto* server = servers.if_contains(*wanted)) {
      one = *server;
    } else {
      intake.problem({path, 0,
                      fmt::format("agent '{}' names the MCP server '{}', which is nowhere", name,
                                  std::string_view(*wanted))});
    }
  }
}

// Adds the agents' names to `names`.
Status read_agents(Files& files, const std::string& root, Intake& intake,
                   std::vector<std::string>& names) {
  const auto path = root + "/local/settings.toml";
  const auto settings = read_toml(files, path, intake);
  if (!settings) return Ok{};
  const auto* agents = settings->get_as<toml::table>("agents");
  if (!agents) return Ok{};
  const auto config = read_toml(files, root + "/config.toml", intake);
  const auto servers = old_servers(files, root, *settings, config, intake);
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
    give_by_value(agent.body, servers, path, agent.name, intake);
    // CrabTalk's handbook puts it here.
    const auto limit =
        config ? (*config)["system"][agent.name]["compact_threshold"].value<std::int64_t>()
               : std::nullopt;
    if (limit && !agent.body.contains("compact_threshold"))
      agent.body["compact_threshold"] = *limit;
    const auto id = std::string(json::find_string(agent.body, "id").value_or(""));
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
    names.push_back(agent.name);
    REEF_CHECK(intake.define(crabtalk_agent(std::move(agent))));
  }
  return Ok{};
}

// The tables of [[list]].
std::vector<const toml::table*> rows_of(const std::optional<toml::table>& file,
                                        std::string_view list, const std::string& path,
                                        Intake& intake) {
  std::vector<const toml::table*> out;
  const auto* rows = file ? file->get_as<toml::array>(list) : nullptr;
  if (!rows) return out;
  for (const auto& row : *rows) {
    if (row.is_table()) {
      out.push_back(row.as_table());
    } else {
      intake.problem({path, row.source().begin.line, fmt::format("'{}' is not a table", list)});
    }
  }
  return out;
}

std::string name_of_row(const toml::table& row) {
  const auto id = row["id"];
  if (const auto number = id.value_exact<std::int64_t>()) return fmt::format("{}", *number);
  return id.value_exact<std::string>().value_or(fmt::format("line-{}", row.source().begin.line));
}

Status read_subscriptions(Files& files, const std::string& root, Intake& intake) {
  const auto path = root + "/events/subscriptions.toml";
  const auto file = read_toml(files, path, intake);
  for (const auto* row : rows_of(file, "subscription", path, intake)) {
    Definition one;
    one.kind = Definition::Kind::subscription;
    one.name = name_of_row(*row);
    for (const auto* member : {"source", "target_agent"})
      one.body[member] = (*row)[member].value_exact<std::string>().value_or("");
    one.body["once"] = (*row)["once"].value_exact<bool>().value_or(false);
    REEF_CHECK(intake.define(std::move(one)));
  }
  return Ok{};
}

// A valid name for a reef-cron job: letters, digits, '-' and '_'.
std::string job_name(std::string_view id) {
  std::string out;
  for (const char c : id.substr(0, 60)) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
    out.push_back(fits ? c : '-');
  }
  return out.empty() ? "job" : out;
}

Status read_crons(Files& files, const std::string& root, Intake& intake) {
  const auto path = root + "/config/crons.toml";
  const auto file = read_toml(files, path, intake);
  for (const auto* row : rows_of(file, "cron", path, intake)) {
    const auto text = [&](std::string_view member) {
      return (*row)[member].value_exact<std::string>().value_or("");
    };
    const auto schedule = crabtalk_schedule(text("schedule"));
    const auto skill = text("skill");
    if (!schedule || skill.empty()) {
      intake.problem({path, row->source().begin.line,
                      schedule ? std::string("a cron without a skill") : schedule.error().what});
      continue;
    }
    Definition job;
    job.kind = Definition::Kind::cron;
    job.name = job_name(name_of_row(*row));
    job.body =
        json::object{{"schedule", *schedule}, {"agent", text("agent")}, {"message", "/" + skill}};
    for (const auto& [theirs, ours] :
         {std::pair{"sender", "sender"}, std::pair{"quiet_start", "quietStart"},
          std::pair{"quiet_end", "quietEnd"}})
      if (const auto value = text(theirs); !value.empty()) job.body[ours] = value;
    if ((*row)["once"].value_exact<bool>().value_or(false)) job.body["once"] = true;
    REEF_CHECK(intake.define(std::move(job)));
  }
  return Ok{};
}

Status read_skills(Files& files, const std::string& root, Intake& intake) {
  // CrabTalk used skills/ before it had local/.
  for (const auto* place : {"/local/skills", "/skills"}) {
    const auto folder = root + place;
    const auto names = is_directory(files, folder)
                           ? files.list(folder)
                           : Result<std::vector<std::string>>(std::vector<std::string>());
    if (!names) {
      intake.problem({folder, 0, names.error().what});
      continue;
    }
    for (const auto& name : *names) {
      if (name.starts_with('.')) continue;
      auto text = read_source(files, fmt::format("{}/{}/SKILL.md", folder, name));
      if (!text) continue;
      intake.consumed(text->size());
      Definition skill;
      skill.kind = Definition::Kind::skill;
      skill.name = name;
      skill.text = *std::move(text);
      skill.body["folder"] = folder + "/" + name;
      REEF_CHECK(intake.define(std::move(skill)));
    }
  }
  return Ok{};
}

Status read_instructions(Files& files, const std::string& root, Intake& intake) {
  auto text = read_source(files, root + "/Crab.md");
  if (!text || text->empty()) return Ok{};
  intake.consumed(text->size());
  Definition instructions;
  instructions.kind = Definition::Kind::instructions;
  instructions.name = "Crab.md";
  instructions.text = *std::move(text);
  return intake.define(std::move(instructions));
}

// All agents shared one memory in CrabTalk, so each gets the notes.
Status read_notes(Files& files, const std::string& root, const std::vector<std::string>& agents,
                  Intake& intake) {
  const auto bytes = read_source(files, root + "/memory.db");
  const auto contents = bytes ? memory::parse(*bytes) : Result<memory::Contents>(bytes.error());
  if (!contents) return Ok{};  // read_crabtalk_archives reports it
  for (const auto& entry : contents->entries) {
    if (entry->kind == memory::Kind::archive) continue;
    for (const auto& agent : agents) REEF_CHECK(intake.define(crabtalk_note(*entry, agent)));
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
  // A name goes before an alias.
  for (const auto& entry : contents->entries)
    if (entry->kind == memory::Kind::archive)
      for (const auto& alias : entry->aliases) out.emplace(alias, entry);
  return out;
}

Definition crabtalk_agent(Definition agent) {
  translate_scope(agent.body);
  return agent;
}

Definition crabtalk_note(const memory::Entry& entry, const std::string& agent) {
  Definition note;
  note.kind = Definition::Kind::note;
  note.name = entry.name;
  note.text = entry.content;
  json::array aliases;
  for (const auto& alias : entry.aliases) aliases.emplace_back(alias);
  note.body = json::object{
      {"agent", agent}, {"aliases", std::move(aliases)}, {"created_at", entry.created_at}};
  return note;
}

Status read_crabtalk_setup(Files& files, const std::string& root, Intake& intake) {
  std::vector<std::string> agents;
  REEF_CHECK(read_agents(files, root, intake, agents));
  if (agents.empty()) agents.emplace_back("crab");
  REEF_CHECK(read_notes(files, root, agents, intake));
  REEF_CHECK(read_skills(files, root, intake));
  REEF_CHECK(read_instructions(files, root, intake));
  REEF_CHECK(read_subscriptions(files, root, intake));
  return read_crons(files, root, intake);
}

}  // namespace reef::exchange
