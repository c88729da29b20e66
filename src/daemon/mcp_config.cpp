#include "daemon/mcp_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "daemon/toml_json.h"

namespace reef::daemon {
namespace {

constexpr std::int64_t kTimeoutSecondsMax = 24 * 60 * 60;
constexpr std::size_t kServersMax = 100;  // of an agent
constexpr std::size_t kTextBytesMax = 64U << 10;

Error wrong(std::string_view key, std::string_view why) {
  return Error(Errc::invalid, fmt::format("{}: {}", key, why));
}

Status read_text(const json::value& value, std::string_view key, std::string& into) {
  if (!value.is_string()) return wrong(key, "must be a string");
  into = std::string_view(value.get_string());
  return Ok{};
}

Status read_texts(const json::value& value, std::string_view key,
                  std::map<std::string, std::string>& into) {
  if (!value.is_object()) return wrong(key, "must be a table of strings");
  for (const auto& [name, one] : value.get_object()) {
    if (!one.is_string()) return wrong(key, "must be a table of strings");
    into[std::string(name)] = std::string_view(one.get_string());
  }
  return Ok{};
}

bool is_only_a_name(const mcp::Spec& spec) {
  return spec.command.empty() && spec.url.empty();
}

std::string_view name_of(const json::value& entry) {
  if (const auto* text = entry.if_string()) return *text;
  if (const auto* fields = entry.if_object())
    return json::find_string(*fields, "name").value_or("");
  return {};
}

}  // namespace

Result<mcp::Spec> mcp_spec_from(const json::object& fields) {
  mcp::Spec spec;
  for (const auto& [key, value] : fields) {
    if (value.is_null()) continue;
    if (key == "name") {
      REEF_CHECK(read_text(value, key, spec.name));
    } else if (key == "command") {
      REEF_CHECK(read_text(value, key, spec.command));
    } else if (key == "cwd") {
      REEF_CHECK(read_text(value, key, spec.cwd));
    } else if (key == "url") {
      REEF_CHECK(read_text(value, key, spec.url));
    } else if (key == "auth") {
      REEF_CHECK(read_text(value, key, spec.auth));
    } else if (key == "oauth") {
      if (!value.is_object()) return wrong(key, "must be a table");
      REEF_TRY(spec.oauth, oauth::settings_from(value.get_object()));
    } else if (key == "env") {
      REEF_CHECK(read_texts(value, key, spec.env));
    } else if (key == "headers") {
      REEF_CHECK(read_texts(value, key, spec.headers));
    } else if (key == "args") {
      if (!value.is_array()) return wrong(key, "must be a list of strings");
      for (const auto& one : value.get_array()) {
        if (!one.is_string()) return wrong(key, "must be a list of strings");
        spec.args.emplace_back(one.get_string());
      }
    } else if (key == "timeout") {
      const auto seconds = json::find_int(fields, key);
      if (!seconds || *seconds < 1 || *seconds > kTimeoutSecondsMax)
        return wrong(
            key, fmt::format("must be a whole number of seconds from 1 to {}", kTimeoutSecondsMax));
      spec.timeout = std::chrono::seconds(*seconds);
    } else if (key == "auto_restart") {
      if (!value.is_bool()) return wrong(key, "must be true or false");
      spec.auto_restart = value.get_bool();
    } else {
      return wrong(utf8::excerpt(key), "servers have no such setting");
    }
  }
  return spec;
}

Result<mcp::Spec> mcp_spec_from(std::string_view text) {
  if (text.size() > kTextBytesMax)
    return Error(Errc::too_large,
                 fmt::format("a server's configuration has at most {} bytes", kTextBytesMax));
  auto value = json::parse(text);
  if (!value) return std::move(value).error().with("invalid McpServerConfig JSON");
  const auto* fields = value->if_object();
  if (!fields) return Error(Errc::invalid, "invalid McpServerConfig JSON: must be an object");
  REEF_TRY(auto spec, mcp_spec_from(*fields));
  if (spec.name.empty()) return Error(Errc::invalid, "MCP config must have a name");
  REEF_CHECK(mcp::check(spec));
  return spec;
}

void read_node_mcps(Table& root, std::map<std::string, mcp::Spec>& into) {
  const auto* section = root.sub("mcps");
  if (!section) return;
  for (const auto& [name, node] : *section) {
    const auto key = fmt::format("mcps.{}", name.str());
    if (!node.is_table()) return root.refuse(key, node, "must be a table");
    auto fields = to_json(node).as_object();
    fields["name"] = name.str();
    auto spec = mcp_spec_from(fields);
    if (spec)
      if (auto good = mcp::check(*spec); !good) spec = std::move(good).error();
    if (!spec) return root.refuse(key, node, spec.error().what);
    into.emplace(name.str(), *std::move(spec));
  }
}

void read_agent_mcps(Table& root, runtime::Agent& agent) {
  const auto* node = root.find("mcps");
  if (!node) return;
  struct Written {
    std::string name;
    const toml::node* node;
  };
  std::vector<Written> written;
  if (const auto* list = node->as_array()) {
    for (const auto& item : *list) {
      const auto* table = item.as_table();
      const auto* named = table ? table->get("name") : &item;
      const auto name = named ? named->value_exact<std::string>() : std::nullopt;
      if (!name || name->empty())
        return root.refuse("mcps", item, "must be a list of names, or of tables with a name");
      written.push_back({*name, &item});
    }
  } else if (const auto* tables = node->as_table()) {
    for (const auto& [name, item] : *tables) {
      if (!item.is_table())
        return root.refuse(fmt::format("mcps.{}", name.str()), item, "must be a table");
      written.push_back({std::string(name.str()), &item});
    }
    // The parser's table has lost the order of the keys.
    const auto place = [](const Written& one) {
      const auto at = one.node->source().begin;
      return std::pair(at.line, at.column);
    };
    std::stable_sort(written.begin(), written.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
  } else {
    return root.refuse("mcps", *node, "must be a list of names or tables");
  }
  if (written.size() > kServersMax)
    return root.refuse("mcps", *node, fmt::format("has more than {} servers", kServersMax));
  std::vector<mcp::Spec> servers;
  for (const auto& [name, item] : written) {
    if (std::find(agent.mcps.begin(), agent.mcps.end(), name) != agent.mcps.end())
      return root.refuse("mcps", *item, fmt::format("names '{}' twice", utf8::excerpt(name)));
    mcp::Spec spec;
    spec.name = name;
    if (item->is_table()) {
      auto fields = to_json(*item).as_object();
      fields["name"] = name;
      auto read = mcp_spec_from(fields);
      if (read && !is_only_a_name(*read))
        if (auto good = mcp::check(*read); !good) read = std::move(good).error();
      if (!read)
        return root.refuse(fmt::format("mcps.{}", utf8::excerpt(name)), *item, read.error().what);
      spec = *std::move(read);
    }
    agent.mcps.push_back(name);
    servers.push_back(std::move(spec));
  }
  agent.servers = std::move(servers);
}

void resolve_mcps(std::map<std::string, runtime::Agent, std::less<>>& agents,
                  const std::map<std::string, mcp::Spec>& node,
                  std::vector<std::string>& warnings) {
  for (auto& [name, agent] : agents) {
    std::vector<mcp::Spec> servers;
    for (auto spec : agent.servers.all()) {
      if (!is_only_a_name(spec)) {
        servers.push_back(std::move(spec));
      } else if (const auto found = node.find(spec.name); found != node.end()) {
        servers.push_back(found->second);
      } else if (mcp::is_server_name(spec.name)) {
        // The component may be there already, or come later.
        spec.component = true;
        servers.push_back(std::move(spec));
      } else {
        warnings.push_back(fmt::format("agent {}: '{}' cannot be the name of an MCP server", name,
                                       utf8::excerpt(spec.name)));
      }
    }
    agent.servers = std::move(servers);
  }
}

Result<json::object> patch_with_mcp(const json::object& config, const json::object& server) {
  const std::string name(json::find_string(server, "name").value_or(""));
  const auto* mcps = config.if_contains("mcps");
  if (mcps && mcps->is_object()) {
    auto fields = server;
    fields.erase("name");
    // The new server replaces the old one; it is not merged with it.
    if (const auto* old = json::find_object(mcps->get_object(), name))
      for (const auto& [key, value] : *old)
        if (!fields.contains(key)) fields[key] = nullptr;
    return json::object{{"mcps", json::object{{name, std::move(fields)}}}};
  }
  auto list = mcps && mcps->is_array() ? mcps->get_array() : json::array();
  const auto same = std::find_if(list.begin(), list.end(),
                                 [&](const auto& entry) { return name_of(entry) == name; });
  if (same != list.end()) {
    *same = server;
  } else {
    list.push_back(server);
  }
  return json::object{{"mcps", std::move(list)}};
}

Result<json::object> patch_without_mcp(const json::object& config, std::string_view name) {
  const Error missing(Errc::not_found, fmt::format("mcp '{}' not found", utf8::excerpt(name)));
  const auto* mcps = config.if_contains("mcps");
  if (!mcps) return missing;
  if (const auto* tables = mcps->if_object()) {
    if (!tables->contains(name)) return missing;
    return json::object{{"mcps", json::object{{name, nullptr}}}};
  }
  if (!mcps->is_array()) return missing;
  json::array left;
  for (const auto& entry : mcps->get_array())
    if (name_of(entry) != name) left.push_back(entry);
  if (left.size() == mcps->get_array().size()) return missing;
  json::object patch{{"mcps", nullptr}};
  if (!left.empty()) patch["mcps"] = std::move(left);
  return patch;
}

}  // namespace reef::daemon
