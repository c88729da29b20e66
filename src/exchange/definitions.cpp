#include "exchange/definitions.h"

#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/utf8.h"
#include "session/ids.h"

namespace reef::exchange {
namespace {

constexpr int kDepthMax = 16;

std::string_view word_of(Definition::Kind kind) {
  switch (kind) {
    case Definition::Kind::agent:
      return "agent";
    case Definition::Kind::status:
      return "status";
    case Definition::Kind::label:
      return "label";
    case Definition::Kind::subscription:
      return "subscription";
    case Definition::Kind::cron:
      return "cron";
    case Definition::Kind::archive:
      return "archive";
  }
  return "definition";
}

std::string as_text(const toml::table& table) {
  std::ostringstream out;
  out << table;
  return std::move(out).str();
}

// TOML has no null; such members are left out.
void put(toml::table& into, std::string_view name, const json::value& value, int depth);

toml::array array_of(const json::array& in, int depth) {
  toml::array out;
  for (const auto& value : in) {
    // An array takes what a table takes.
    toml::table one;
    put(one, "v", value, depth);
    if (auto* node = one.get("v")) node->visit([&](auto& item) { out.push_back(std::move(item)); });
  }
  return out;
}

void put(toml::table& into, std::string_view name, const json::value& value, int depth) {
  if (depth > kDepthMax) return;
  if (const auto* text = value.if_string()) {
    into.insert_or_assign(name, std::string(*text));
  } else if (value.is_bool()) {
    into.insert_or_assign(name, value.get_bool());
  } else if (value.is_int64()) {
    into.insert_or_assign(name, value.get_int64());
  } else if (value.is_uint64()) {
    into.insert_or_assign(name, static_cast<double>(value.get_uint64()));
  } else if (value.is_double()) {
    into.insert_or_assign(name, value.get_double());
  } else if (const auto* list = value.if_array()) {
    into.insert_or_assign(name, array_of(*list, depth + 1));
  } else if (const auto* object = value.if_object()) {
    toml::table table;
    for (const auto& [key, member] : *object) put(table, key, member, depth + 1);
    into.insert_or_assign(name, std::move(table));
  }
}

std::string commented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out += fmt::format("# {}\n", text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

Result<bool> keep_agent(Files& files, const std::string& home, const Definition& agent,
                        bool dry_run) {
  // The same rule as for the key it becomes part of.
  if (auto key = session::Key::of_pair(agent.name, "user"); !key) return std::move(key).error();
  const auto folder = home + "/agents";
  const auto path = folder + "/" + agent.name;
  if (files.stat_path(path + ".toml") || files.stat_path(path + ".md")) return false;
  if (dry_run) return true;
  toml::table known;
  toml::table other;
  for (const auto& [name, value] : agent.body) {
    const bool text = name == "description" || name == "model";
    put(text && value.is_string() ? known : other, name, value, 0);
  }
  auto content = as_text(known) + "\n";
  if (!other.empty())
    content += "\n# What the agent had where it came from and has no place here.\n" +
               commented(as_text(other));
  REEF_CHECK(make_directories(files, folder));
  // The prompt first: an agent must not speak without it.
  if (!agent.text.empty()) REEF_CHECK(replace_atomically(files, path + ".md", agent.text));
  REEF_CHECK(replace_atomically(files, path + ".toml", content));
  return true;
}

// A row of an array of tables: [[cron]] in crons.toml.
Result<bool> keep_row(Files& files, const std::string& path, const Definition& row, bool dry_run) {
  const auto word = word_of(row.kind);
  toml::table file;
  const auto text = read_all(files, path);
  if (!text && text.error().code != Errc::not_found) return text.error();
  if (text) {
    try {
      file = toml::parse(*text, path);
    } catch (const toml::parse_error& error) {
      return Error(Errc::invalid,
                   fmt::format("{}:{}: {}; nothing is written to a broken file", path,
                               error.source().begin.line, error.description()));
    }
  }
  toml::table fresh;
  fresh.insert_or_assign("name", row.name);
  for (const auto& [name, value] : row.body) put(fresh, name, value, 0);
  if (const auto* rows = file[word].as_array())
    for (const auto& other : *rows)
      if (const auto* table = other.as_table();
          table && (*table)["name"].value<std::string>() == row.name)
        return false;
  if (dry_run) return true;
  // What is there stays as it is written, comments too; the new row goes behind it.
  toml::array rows;
  rows.push_back(std::move(fresh));
  toml::table added;
  added.insert_or_assign(word, std::move(rows));
  const auto slash = path.find_last_of('/');
  REEF_CHECK(make_directories(files, path.substr(0, slash)));
  auto content = text ? *text : std::string();
  if (!content.empty()) content += content.ends_with('\n') ? "\n" : "\n\n";
  REEF_CHECK(replace_atomically(files, path, content + as_text(added) + "\n"));
  return true;
}

}  // namespace

std::string describe(const Definition& definition) {
  return fmt::format("{} {}", word_of(definition.kind), utf8::excerpt(definition.name));
}

Result<bool> keep_definition(Files& files, const std::string& home, const Definition& definition,
                             bool dry_run) {
  switch (definition.kind) {
    case Definition::Kind::agent:
      return keep_agent(files, home, definition, dry_run);
    case Definition::Kind::subscription:
      return keep_row(files, home + "/events/subscriptions.toml", definition, dry_run);
    case Definition::Kind::cron:
      return keep_row(files, home + "/crons.toml", definition, dry_run);
    default:
      return Error(Errc::invalid, "it is kept elsewhere");
  }
}

}  // namespace reef::exchange
