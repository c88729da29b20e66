#include "daemon/config_edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/toml_lines.h"
#include "daemon/config.h"
#include "daemon/toml_table.h"

namespace reef::daemon {
namespace {

std::string quoted_list(const std::vector<std::string>& list) {
  std::vector<std::string> items;
  for (const auto& item : list) items.push_back(toml_quoted(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

Error by_hand(std::string_view file, std::string_view what) {
  return Error(
      Errc::unsupported,
      fmt::format("{}: {} is written in a form that is not edited; change it by hand", file, what));
}

// The lines of a key and its value, counted from 0; nullopt when there is no such key.
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
};
std::optional<Range> lines_of(const toml::table& table, std::string_view key) {
  const auto found = table.find(key);
  if (found == table.end()) return std::nullopt;
  // The key is on the line where its value begins, or on an earlier one.
  return Range{found->first.source().begin.line - 1, found->second.source().end.line - 1};
}

// Replaces the lines of `key`, or inserts `key = value` before line `after` when there is no such
// key.
void set_key(Lines& lines, const toml::table& table, std::string_view key, const std::string& value,
             std::size_t after) {
  const auto line = fmt::format("{} = {}", key, value);
  if (const auto range = lines_of(table, key)) {
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(range->first),
                lines.begin() + static_cast<std::ptrdiff_t>(range->last + 1));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(range->first), line);
  } else {
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(after), line);
  }
}

constexpr std::string_view kDefinition[] = {"kind",          "base_url",    "key",  "models",
                                            "default_model", "api_version", "auth", "region"};

std::vector<std::pair<std::string, std::string>> fields_of(const model::ProviderSpec& spec) {
  std::vector<std::pair<std::string, std::string>> fields{{"kind", toml_quoted(spec.kind)}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) fields.emplace_back(name, toml_quoted(value));
  };
  add("base_url", spec.base_url);
  add("key", spec.key);
  if (!spec.models.empty()) fields.emplace_back("models", quoted_list(spec.models));
  add("default_model", spec.default_model);
  add("api_version", spec.api_version);
  add("auth", spec.auth);
  add("region", spec.region);
  return fields;
}

const toml::table* provider_table(const toml::table& root, const std::string& name) {
  const auto* providers = root["providers"].as_table();
  if (!providers) return nullptr;
  const auto* node = providers->get(name);
  return node ? node->as_table() : nullptr;
}

bool is_header(const std::string& line) {
  const auto first = line.find_first_not_of(" \t");
  return first != std::string::npos && line[first] == '[';
}

// The line of a table's own header, counted from 0; nullopt when it has none.
std::optional<std::size_t> header_of(const Lines& lines, const toml::table& table) {
  const auto line = table.source().begin.line;
  if (table.is_inline() || line == 0 || line > lines.size() || !is_header(lines[line - 1]))
    return std::nullopt;
  return line - 1;
}

}  // namespace

Result<std::string> with_default_model(std::string_view text, std::string_view file,
                                       const std::string& model) {
  REEF_TRY(const auto root, parse_toml(text, file));
  auto lines = split_lines(text);
  // Top-level keys must stand before the first table.
  set_key(lines, root, "default_model", toml_quoted(model), 0);
  auto out = join_lines(lines);
  REEF_TRY(const auto loaded, parse_config(out, file));
  if (loaded.config.default_model != model) return by_hand(file, "default_model");
  return out;
}

Result<std::string> with_renamed_agent(std::string_view text, std::string_view file,
                                       const std::string& from, const std::string& to) {
  REEF_TRY(const auto root, parse_toml(text, file));
  REEF_TRY(auto wanted, parse_config(text, file));
  auto lines = split_lines(text);
  const auto old_begin = fmt::format("agent:{}:", from), new_begin = fmt::format("agent:{}:", to);
  auto& rules = wanted.config.idle_minutes_by_key;
  if (const auto* table = root["session"]["idle_minutes_by_key"].as_table())
    for (const auto& [key, value] : *table) {
      const std::string old_key(key.str());
      if (!old_key.starts_with(old_begin)) continue;
      const auto new_key = new_begin + old_key.substr(old_begin.size());
      if (rules.contains(new_key))
        return Error(Errc::conflict, fmt::format("{}: session.idle_minutes_by_key: '{}' is there "
                                                 "already; remove it, or '{}'",
                                                 file, new_key, old_key));
      // Changes only the name within the key; the rest of the line is the user's.
      auto& line = lines[key.source().begin.line - 1];
      const auto at = line.find(old_begin);
      if (at == std::string::npos) return by_hand(file, "session.idle_minutes_by_key");
      line.replace(at, old_begin.size(), new_begin);
      auto rule = rules.extract(old_key);
      rule.key() = new_key;
      rules.insert(std::move(rule));
    }
  if (wanted.config.default_agent == from) {
    wanted.config.default_agent = to;
    set_key(lines, root, "default_agent", toml_quoted(to), 0);
  }
  auto out = join_lines(lines);
  REEF_TRY(const auto loaded, parse_config(out, file));
  if (loaded.config.default_agent != wanted.config.default_agent)
    return by_hand(file, "default_agent");
  if (loaded.config.idle_minutes_by_key != rules)
    return by_hand(file, "session.idle_minutes_by_key");
  return out;
}

Result<std::string> with_provider(std::string_view text, std::string_view file,
                                  const model::ProviderSpec& spec) {
  REEF_TRY(auto root, parse_toml(text, file));
  const auto fields = fields_of(spec);
  auto out = std::string(text);
  if (!provider_table(root, spec.name)) {
    if (!out.empty() && !out.ends_with('\n')) out += '\n';
    if (!out.empty()) out += '\n';
    out +=
        fmt::format("[providers.{}]\n",
                    spec.name.find('.') == std::string::npos ? spec.name : toml_quoted(spec.name));
    for (const auto& [key, value] : fields) out += fmt::format("{} = {}\n", key, value);
  } else {
    // Sets one key at a time and parses again, because lines move.
    for (const auto key : kDefinition) {
      REEF_TRY(const auto now, parse_toml(out, file));
      const auto* table = provider_table(now, spec.name);
      auto lines = split_lines(out);
      const auto header = table ? header_of(lines, *table) : std::nullopt;
      if (!header) return by_hand(file, "providers." + spec.name);
      const auto given = std::find_if(fields.begin(), fields.end(),
                                      [&](const auto& field) { return field.first == key; });
      if (given != fields.end()) {
        set_key(lines, *table, key, given->second, *header + 1);
      } else if (const auto range = lines_of(*table, key)) {
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(range->first),
                    lines.begin() + static_cast<std::ptrdiff_t>(range->last + 1));
      }
      out = join_lines(lines);
    }
  }
  auto loaded = parse_config(out, file);
  if (!loaded) return std::move(loaded).error();
  const auto found = loaded->config.providers.find(spec.name);
  if (found == loaded->config.providers.end() || fields_of(found->second.spec) != fields)
    return by_hand(file, "providers." + spec.name);
  return out;
}

Result<std::string> without_provider(std::string_view text, std::string_view file,
                                     const std::string& name) {
  auto out = std::string(text);
  REEF_TRY(const auto root, parse_toml(out, file));
  const auto* table = provider_table(root, name);
  if (!table) return Error(Errc::not_found, fmt::format("there is no provider '{}'", name));
  auto lines = split_lines(out);
  // Finds the headers of this table and of those inside it; each is removed with the lines up to
  // the next header.
  std::vector<std::size_t> headers;
  const auto collect = [&](auto&& self, const toml::table& in) -> void {
    if (const auto header = header_of(lines, in)) headers.push_back(*header);
    for (const auto& [key, node] : in)
      if (const auto* inner = node.as_table()) self(self, *inner);
  };
  collect(collect, *table);
  std::sort(headers.rbegin(), headers.rend());
  // A table that is only implied shares the header of the one inside it.
  headers.erase(std::unique(headers.begin(), headers.end()), headers.end());
  for (const auto header : headers) {
    auto end = header + 1;
    while (end < lines.size() && !is_header(lines[end])) ++end;
    // Comments and blank lines right above the next header belong to the next table.
    while (end > header + 1 && end < lines.size() &&
           (lines[end - 1].empty() || lines[end - 1].starts_with('#')))
      --end;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(header),
                lines.begin() + static_cast<std::ptrdiff_t>(end));
  }
  out = join_lines(lines);
  REEF_TRY(const auto loaded, parse_config(out, file));
  if (loaded.config.providers.contains(name)) return by_hand(file, "providers." + name);
  return out;
}

}  // namespace reef::daemon
