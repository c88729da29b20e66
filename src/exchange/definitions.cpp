#include "exchange/definitions.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/utf8.h"
#include "exchange/staging.h"
#include "session/ids.h"

namespace reef::exchange {
namespace {

constexpr int kDepthMax = 16;
constexpr std::size_t kJobsMax = 1000;
constexpr std::size_t kSkillFilesMax = 1000;
constexpr std::uint64_t kSkillBytesMax = 64ULL << 20;
constexpr int kSkillDepthMax = 8;

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
    case Definition::Kind::note:
      return "note";
    case Definition::Kind::skill:
      return "skill";
    case Definition::Kind::instructions:
      return "instructions";
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
    // An array holds the same values as a table.
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

bool is_names(const json::value& value) {
  const auto* list = value.if_array();
  return list &&
         std::all_of(list->begin(), list->end(), [](const auto& item) { return item.is_string(); });
}

// Whether agents have the field here, with a value of this type.
bool is_ours(std::string_view name, const json::value& value) {
  if (name == "description" || name == "model") return value.is_string();
  if (name == "tools" || name == "skills") return is_names(value);
  // The configuration has the same limit (daemon/config.cpp).
  if (name == "compact_threshold") return value.is_int64() && value.get_int64() >= 1000;
  return name == "max_iterations" && value.is_int64() && value.get_int64() > 0;
}

Result<bool> keep_agent(Files& files, const std::string& home, const Definition& agent,
                        bool dry_run) {
  // The name becomes part of a key, so the key's rule applies.
  if (auto key = session::Key::of_pair(agent.name, "user"); !key) return std::move(key).error();
  const auto folder = home + "/agents";
  const auto path = folder + "/" + agent.name;
  if (files.stat_path(path + ".toml") || files.stat_path(path + ".md")) return false;
  if (dry_run) return true;
  toml::table known;
  toml::table other;
  for (const auto& [name, value] : agent.body) {
    put(is_ours(name, value) ? known : other, name, value, 0);
  }
  auto content = as_text(known) + "\n";
  if (!other.empty())
    content += "\n# What the agent had where it came from and has no place here.\n" +
               commented(as_text(other));
  REEF_CHECK(make_directories(files, folder));
  // The prompt is written first, because an agent must not speak without it.
  if (!agent.text.empty()) REEF_CHECK(replace_atomically(files, path + ".md", agent.text));
  REEF_CHECK(replace_atomically(files, path + ".toml", content));
  return true;
}

// Adds the job to the file in which reef-cron keeps its jobs.
Result<bool> keep_job(Files& files, const std::string& home, const Definition& job, bool dry_run) {
  const auto folder = home + "/components/cron";
  const auto path = folder + "/jobs.json";
  json::object jobs;
  const auto text = read_all(files, path);
  if (!text && text.error().code != Errc::not_found) return text.error();
  if (text) {
    auto parsed = json::parse(*text);
    if (!parsed || !parsed->is_object())
      return Error(Errc::invalid, fmt::format("{}: {}; nothing is written to a broken file", path,
                                              parsed ? "not an object" : parsed.error().what));
    jobs = std::move(parsed->get_object());
  }
  if (jobs.contains(job.name)) return false;
  if (jobs.size() >= kJobsMax)
    return Error(Errc::invalid, fmt::format("there are {} jobs already", kJobsMax));
  if (dry_run) return true;
  jobs[job.name] = job.body;
  REEF_CHECK(make_directories(files, folder));
  REEF_CHECK(replace_atomically(files, path, json::write(jobs) + "\n"));
  return true;
}

Result<bool> keep_instructions(Files& files, const std::string& home, const Definition& in,
                               bool dry_run) {
  const auto path = home + "/Reef.md";
  const auto there = read_all(files, path);
  if (!there && there.error().code != Errc::not_found) return there.error();
  if (there && *there == in.text) return false;
  if (there)
    return Error(Errc::conflict, path + " is there and says something else; put them together");
  if (dry_run) return true;
  REEF_CHECK(replace_atomically(files, path, in.text));
  return true;
}

struct Copying {
  std::size_t files_left = kSkillFilesMax;
  std::uint64_t bytes_left = kSkillBytesMax;
};

// Copies what lies in the folder, except links and hidden files.
Status copy_folder(Files& files, const std::string& from, const std::string& to, int depth,
                   Copying& left) {
  const auto names = files.list(from);
  if (!names) return names.error();
  for (const auto& name : *names) {
    if (name.starts_with('.') || name == "SKILL.md") continue;
    const auto source = files.open(from + "/" + name, Files::Open::plain);
    const auto stat = source ? files.stat(source->get()) : Result<Files::Stat>(source.error());
    if (!stat) continue;  // a link, or gone
    if (stat->directory) {
      if (depth == 0) return Error(Errc::invalid, from + ": folders too deep in each other");
      REEF_CHECK(make_directories(files, to + "/" + name));
      REEF_CHECK(copy_folder(files, from + "/" + name, to + "/" + name, depth - 1, left));
    } else if (stat->regular) {
      if (left.files_left == 0 || stat->size > left.bytes_left)
        return Error(Errc::invalid,
                     fmt::format("more than {} files or {} bytes", kSkillFilesMax, kSkillBytesMax));
      --left.files_left;
      left.bytes_left -= stat->size;
      REEF_TRY(const auto bytes, read_range(files, source->get(), 0, stat->size));
      REEF_CHECK(replace_atomically(files, to + "/" + name, bytes));
    }
  }
  return Ok{};
}

// The skill appears whole under its name, or not at all.
Result<bool> keep_skill(Files& files, const std::string& home, const Definition& skill,
                        bool dry_run) {
  if (auto name = session::check_name("skill", skill.name); !name) return std::move(name).error();
  if (skill.name.find('/') != std::string::npos || skill.name.starts_with('.'))
    return Error(Errc::invalid, "a folder cannot be called so");
  const auto path = home + "/skills/" + skill.name;
  if (files.stat_path(path)) return false;
  if (dry_run) return true;
  const auto fresh = staging_of(home) + "/skill-" + skill.name;
  REEF_CHECK(remove_tree(files, fresh));
  REEF_CHECK(make_directories(files, fresh));
  Copying left;
  if (const auto folder = json::find_string(skill.body, "folder"))
    REEF_CHECK(copy_folder(files, std::string(*folder), fresh, kSkillDepthMax, left));
  REEF_CHECK(replace_atomically(files, fresh + "/SKILL.md", skill.text));
  REEF_CHECK(make_directories(files, home + "/skills"));
  REEF_CHECK(files.rename(fresh, path));
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
    case Definition::Kind::cron:
      return keep_job(files, home, definition, dry_run);
    case Definition::Kind::skill:
      return keep_skill(files, home, definition, dry_run);
    case Definition::Kind::instructions:
      return keep_instructions(files, home, definition, dry_run);
    default:
      return Error(Errc::invalid, "it is kept elsewhere");
  }
}

}  // namespace reef::exchange
