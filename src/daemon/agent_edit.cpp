#include "daemon/agent_edit.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/toml_lines.h"
#include "base/utf8.h"
#include "daemon/config.h"
#include "daemon/toml_json.h"
#include "daemon/toml_table.h"
#include "mcp/spec.h"
#include "session/ids.h"

namespace reef::daemon {
namespace {

bool is_header(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '[';
}

bool is_comment_or_blank(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos || line[first] == '#';
}

Result<std::string> whole_text(const json::object& config) {
  std::string out;
  for (const auto& [key, value] : config) {
    REEF_TRY(const auto text, toml_value(value));
    out += fmt::format("{} = {}\n", toml_key(key), text);
  }
  return out;
}

bool has_header(const toml::node& node, const Lines& lines) {
  if (const auto* table = node.as_table()) return !table->is_inline();
  const auto line = node.source().begin.line;
  return node.is_array_of_tables() && line > 0 && line <= lines.size() &&
         is_header(lines[line - 1]);
}

// The line for a new key: after the last key that stands before all tables.
std::size_t end_of_top(const Lines& lines, const toml::table& root) {
  std::size_t first_header = lines.size();
  for (const auto& [key, node] : root)
    if (has_header(node, lines) && node.source().begin.line > 0)
      first_header = std::min<std::size_t>(first_header, node.source().begin.line - 1);
  auto end = first_header;
  if (first_header < lines.size())
    while (end > 0 && is_comment_or_blank(lines[end - 1])) --end;
  return end;
}

// Sets one key of the top level or, without a value, removes it. The value may cover several lines,
// but is not a table with a header.
std::string with_key(std::string_view text, const toml::table& root, std::string_view key,
                     const std::optional<std::string>& value) {
  auto lines = split_lines(text);
  const auto at = [&](std::size_t i) { return lines.begin() + static_cast<std::ptrdiff_t>(i); };
  auto place = end_of_top(lines, root);
  if (const auto found = root.find(key); found != root.end()) {
    const std::size_t first = found->first.source().begin.line - 1;
    const std::size_t last = found->second.source().end.line - 1;
    std::string remark;
    // A comment after the value on its last line stays.
    if (last < lines.size()) {
      const auto column = found->second.source().end.column - 1;
      const auto rest = column < lines[last].size() ? lines[last].substr(column) : std::string();
      if (const auto hash = rest.find_first_not_of(" \t");
          hash != std::string::npos && rest[hash] == '#')
        remark = rest;
    }
    lines.erase(at(first), at(std::min(last + 1, lines.size())));
    if (value) lines.insert(at(first), fmt::format("{} = {}{}", toml_key(key), *value, remark));
  } else if (value) {
    lines.insert(at(place), fmt::format("{} = {}", toml_key(key), *value));
  }
  return join_lines(lines);
}

// Removes a table or list of tables: each header with the lines up to the next header.
std::string without_section(std::string_view text, std::string_view key) {
  auto lines = split_lines(text);
  const auto is_its = [&](std::string_view line) {
    auto rest = line.substr(line.find_first_not_of(" \t[\"'"));
    if (!rest.starts_with(key)) return false;
    rest.remove_prefix(key.size());
    return !rest.empty() && std::string_view("] .\"'\t").find(rest[0]) != std::string_view::npos;
  };
  for (std::size_t i = 0; i < lines.size();) {
    if (!is_header(lines[i]) || !is_its(lines[i])) {
      ++i;
      continue;
    }
    auto end = i + 1;
    while (end < lines.size() && !is_header(lines[end])) ++end;
    // Comments right above the next header belong to the next table.
    while (end < lines.size() && end > i + 1 && is_comment_or_blank(lines[end - 1])) --end;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i),
                lines.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return join_lines(lines);
}

bool is_secret_name(std::string_view name) {
  const auto lower = utf8::lower_ascii(name);
  // These names are about secrets without being secrets.
  for (const std::string_view word : {"oauth", "auth_method", "key_id", "private_key_file"})
    if (lower == word) return false;
  for (const std::string_view word :
       {"key", "token", "secret", "password", "auth", "credential", "assertion"})
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

// Masks what looks like a secret in the arguments of a command.
json::array masked_list(const json::array& args) {
  std::vector<std::string> texts;
  for (const auto& arg : args) texts.emplace_back(arg.is_string() ? arg.get_string().c_str() : "");
  const auto shown = mcp::masked_args(texts);
  json::array out;
  for (std::size_t i = 0; i < args.size(); ++i)
    out.push_back(args[i].is_string() ? json::value(shown[i]) : args[i]);
  return out;
}

json::value masked_value(const json::value& value, bool secret) {
  if (const auto* text = value.if_string()) {
    const std::string_view words(*text);
    const bool place = words.starts_with("env:") || words.starts_with("cmd:");
    return secret && !words.empty() && !place ? json::value(kMask) : value;
  }
  if (const auto* list = value.if_array()) {
    json::array out;
    for (const auto& item : *list) out.push_back(masked_value(item, secret));
    return out;
  }
  const auto* fields = value.if_object();
  if (!fields) return value;
  json::object out;
  for (const auto& [name, field] : *fields)
    if (name == "args" && field.is_array()) {
      out[name] = masked_list(field.get_array());
    } else if (name == "url" && field.is_string()) {
      out[name] = mcp::masked_url(std::string(field.get_string()));
    } else {
      out[name] =
          masked_value(field, secret || name == "env" || name == "headers" || is_secret_name(name));
    }
  return out;
}

// Puts back secrets that a client only saw masked. Lists of objects are matched by `name`.
void unmask(json::value& patch, const json::value* was) {
  if (const auto* text = patch.if_string()) {
    if (std::string_view(*text) == kMask && was && was->is_string()) patch = *was;
  } else if (auto* fields = patch.if_object()) {
    for (auto& [name, field] : *fields) {
      const auto* old = was && was->is_object() ? was->get_object().if_contains(name) : nullptr;
      // These were shown with the mask inside the text.
      if (old && name == "args" && field.is_array() && old->is_array() &&
          field.get_array() == masked_list(old->get_array()))
        field = *old;
      if (old && name == "url" && field.is_string() && old->is_string() &&
          std::string_view(field.get_string()) == mcp::masked_url(std::string(old->get_string())))
        field = *old;
      unmask(field, old);
    }
  } else if (auto* list = patch.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto& item = (*list)[i];
      const json::value* old = nullptr;
      if (was && was->is_array()) {
        const auto& olds = was->get_array();
        if (!item.is_object() && i < olds.size()) old = &olds[i];
        if (item.is_object())
          for (const auto& candidate : olds)
            if (candidate.is_object() && json::find_string(candidate.get_object(), "name") ==
                                             json::find_string(item.get_object(), "name"))
              old = &candidate;
      }
      unmask(item, old);
    }
  }
}

// Finds the first mask in `value` that stands for no known secret, for example because somebody
// copied it from another agent. `was` is the present value; a mask in there is the user's own text.
std::optional<std::string> find_mask(const json::value& value, const json::value* was,
                                     const std::string& path, bool secret) {
  if (const auto* text = value.if_string()) {
    if (!secret || std::string_view(*text).find(kMask) == std::string_view::npos)
      return std::nullopt;
    return was && *was == value ? std::nullopt : std::optional(path);
  }
  if (const auto* fields = value.if_object()) {
    for (const auto& [name, field] : *fields) {
      const auto* old = was && was->is_object() ? was->get_object().if_contains(name) : nullptr;
      const auto at = path + "." + std::string(name);
      const bool hidden = secret || name == "env" || name == "headers" || name == "args" ||
                          name == "url" || is_secret_name(name);
      if (auto found = find_mask(field, old, at, hidden)) return found;
    }
  } else if (const auto* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto& item = (*list)[i];
      const auto* object = item.if_object();
      const auto name = object ? json::find_string(*object, "name") : std::nullopt;
      const auto* olds = was ? was->if_array() : nullptr;
      const json::value* old = nullptr;
      if (olds)
        for (const auto& one : *olds)
          if (one == item ||
              (name && one.is_object() && json::find_string(one.get_object(), "name") == name))
            old = &one;
      const auto at = fmt::format("{}[{}]", path, name ? std::string(*name) : std::to_string(i));
      if (auto found = find_mask(item, old, at, secret)) return found;
    }
  }
  return std::nullopt;
}

// Drops the fields only CrabTalk's AgentConfig has, as long as they say nothing; otherwise refuses
// them by name.
Status take_crabtalk_words(std::string_view name, json::object& fields) {
  fields.erase("id");
  if (const auto* given = fields.if_contains("name")) {
    if (!given->is_string() || std::string_view(given->get_string()) != name)
      return Error(Errc::invalid, "name: another one than the agent's; rename it instead");
    fields.erase("name");
  }
  if (auto* thinking = fields.if_contains("thinking"); thinking && thinking->is_bool())
    *thinking = thinking->get_bool() ? "high" : "off";
  const json::object defaults{
      {"tool_choice", "auto"},
      {"hooks", json::object{{"bash", json::object{{"disabled", false}, {"deny", json::array()}}},
                             {"memory", json::object{{"recall_limit", 5}}}}}};
  for (const auto& [word, silent] : defaults) {
    const auto* given = fields.if_contains(word);
    if (!given) continue;
    auto merged = silent;
    if (given->is_object() && merged.is_object()) {
      json::merge_patch(merged.get_object(), given->get_object());
    } else if (!given->is_null()) {
      merged = *given;
    }
    if (merged != silent)
      return Error(Errc::invalid,
                   fmt::format("{}: agents have no such setting here{}", std::string_view(word),
                               word == "hooks" ? "; `tools` says what they may call" : ""));
    fields.erase(word);
  }
  return Ok{};
}

// Checks that an agent's file may have every field, with that value.
Status check_fields(std::string_view name, const json::object& fields) {
  json::object given;
  for (const auto& [key, value] : fields)
    if (!value.is_null()) given[key] = value;
  REEF_TRY(const auto text, whole_text(given));
  constexpr std::string_view kPlace = "patch";
  std::vector<std::string> warnings;
  const auto parsed = parse_agent(name, text, kPlace, warnings);
  // A client that sent JSON has no use for the line number in "patch:3: search: must be ...".
  const auto plain = [&](const std::string& what) {
    const auto end = what.find(": ");
    return what.starts_with(kPlace) && end != std::string::npos ? what.substr(end + 2) : what;
  };
  if (!parsed) return Error(parsed.error().code, plain(parsed.error().what));
  if (!warnings.empty()) {
    const auto what = plain(warnings.front());
    return Error(Errc::invalid, fmt::format("unknown field '{}'", what.substr(0, what.find(": "))));
  }
  return Ok{};
}

}  // namespace

Status check_agent_name(std::string_view name) {
  if (name.size() > kAgentNameBytesMax)
    return Error(Errc::invalid, fmt::format("an agent's name has at most {} bytes, this one {}",
                                            kAgentNameBytesMax, name.size()));
  const auto key = session::Key::of_pair(name, "user");
  if (!key) return key.error();
  if (name.front() == '.' || name.front() == ' ' || name.back() == ' ' || name.front() == '-' ||
      name.find_first_of("\\\"<>&[]") != std::string_view::npos)
    return Error(Errc::invalid,
                 fmt::format("agent name '{}' must not begin with a dot or dash, begin or end with "
                             "a space, or hold any of \\ \" < > & [ ]",
                             utf8::excerpt(name)));
  return Ok{};
}

Status check_prompt(std::string_view prompt) {
  if (prompt.size() > kAgentPromptBytesMax)
    return Error(Errc::too_large, fmt::format("a prompt has at most {} bytes, this one {}",
                                              kAgentPromptBytesMax, prompt.size()));
  if (!utf8::valid(prompt)) return Error(Errc::invalid, "the prompt is not valid UTF-8");
  return Ok{};
}

Result<AgentPatch> agent_patch_from(std::string_view name, std::string_view text) {
  if (text.size() > kAgentConfigBytesMax)
    return Error(Errc::too_large,
                 fmt::format("an agent's configuration has at most {} bytes, this one {}",
                             kAgentConfigBytesMax, text.size()));
  AgentPatch patch;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return patch;
  if (text[first] == '{') {
    auto value = json::parse(text);
    if (!value) return std::move(value).error().with("invalid agent configuration");
    patch.fields = value->as_object();
  } else {
    auto table = parse_toml(text, "configuration");
    if (!table) return std::move(table).error().with("invalid agent configuration");
    patch.fields = to_json(*table).as_object();
  }
  for (const auto* word : {"prompt", "system_prompt"}) {
    const auto* prompt = patch.fields.if_contains(word);
    if (!prompt) continue;
    if (!prompt->is_null() && !prompt->is_string())
      return Error(Errc::invalid, fmt::format("{}: must be a text", word));
    patch.prompt = prompt->is_null() ? std::string() : std::string(prompt->get_string());
    patch.fields.erase(word);
  }
  REEF_CHECK(take_crabtalk_words(name, patch.fields));
  REEF_CHECK(check_fields(name, patch.fields));
  return patch;
}

Result<std::string> with_agent_patch(std::string_view name, std::string_view text,
                                     std::string_view file, const json::object& patch) {
  REEF_TRY(const auto before, parse_toml(text, file));
  const auto old = to_json(before).as_object();
  json::value changes = patch;
  const json::value was = old;
  unmask(changes, &was);
  for (const auto* key : {"parameters", "mcps"})
    if (const auto* value = changes.get_object().if_contains(key))
      if (const auto place = find_mask(*value, was.get_object().if_contains(key), key, false))
        return Error(Errc::invalid,
                     fmt::format("{}: '{}' stands for a secret that this agent does not have; give "
                                 "the secret itself, env:NAME or cmd:COMMAND",
                                 *place, kMask));
  auto wanted = old;
  json::merge_patch(wanted, changes.get_object());

  std::string out(text);
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  for (const auto& [key, value] : changes.get_object()) {
    const auto* now = wanted.if_contains(key);
    const auto* then = old.if_contains(key);
    if (now && then && *now == *then) continue;
    // A file that cannot be edited line by line is written anew below.
    auto root = parse_toml(out, file);
    if (!root) break;
    if (const auto* node = root->get(key); node && has_header(*node, split_lines(out))) {
      out = without_section(out, key);
      root = parse_toml(out, file);
      if (!root) break;
    }
    std::optional<std::string> written;
    if (now) {
      REEF_TRY(written, toml_value(*now));
    }
    out = with_key(out, *root, key, written);
  }
  const auto after = parse_toml(out, file);
  if (!after || to_json(*after).as_object() != wanted) {
    REEF_TRY(out, whole_text(wanted));
  }
  std::vector<std::string> warnings;
  const auto parsed = parse_agent(name, out, file, warnings);
  if (!parsed) return parsed.error();
  if (out.size() > kAgentConfigBytesMax)
    return Error(Errc::too_large, fmt::format("an agent's configuration has at most {} bytes",
                                              kAgentConfigBytesMax));
  return out;
}

json::object masked(const json::object& config) {
  return masked_value(config, false).as_object();
}

}  // namespace reef::daemon
