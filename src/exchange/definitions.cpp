#include "exchange/definitions.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/utf8.h"
#include "session/ids.h"

namespace reef::exchange {
namespace {

constexpr int kDepthMax = 16;
constexpr std::size_t kJobsMax = 1000;
constexpr std::uint64_t kHomeFileBytesMax = 64ULL << 20;
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

// Holds when there is nothing yet, or the same.
Status add(session::Documents& documents, const std::string& name, std::string_view bytes) {
  const auto kept = documents.replace(name, bytes, session::Nothing{});
  if (kept) return Ok{};
  if (kept.error().code != Errc::conflict) return kept.error();
  const auto there = documents.read(name, bytes.size());
  if (there && *there && (*there)->bytes == bytes) return Ok{};
  return kept.error();
}

// Something has the name, whatever it is.
bool is_taken(session::Documents& documents, const std::string& name) {
  const auto there = session::is_there(documents, name);
  return !there || *there;
}

Result<bool> keep_agent(session::Documents& documents, const Definition& agent, bool dry_run) {
  // The name becomes part of a key, so the key's rule applies.
  if (auto key = session::Key::of_pair(agent.name, "user"); !key) return std::move(key).error();
  const auto document = "agents/" + agent.name;
  if (is_taken(documents, document + ".toml") || is_taken(documents, document + ".md"))
    return false;
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
  // The prompt is written first, because an agent must not speak without it.
  if (!agent.text.empty()) REEF_CHECK(add(documents, document + ".md", agent.text));
  REEF_CHECK(add(documents, document + ".toml", content));
  return true;
}

// Adds the job to the file in which reef-cron keeps its jobs.
Result<bool> keep_job(session::Documents& documents, const Definition& job, bool dry_run) {
  const std::string name = "components/cron/jobs.json";
  json::object jobs;
  REEF_TRY(const auto there, documents.read(name, kHomeFileBytesMax));
  if (there) {
    auto parsed = json::parse(there->bytes);
    if (!parsed || !parsed->is_object())
      return Error(Errc::invalid, fmt::format("{}: {}; nothing is written to a broken file", name,
                                              parsed ? "not an object" : parsed.error().what));
    jobs = std::move(parsed->get_object());
  }
  if (jobs.contains(job.name)) return false;
  if (jobs.size() >= kJobsMax)
    return Error(Errc::invalid, fmt::format("there are {} jobs already", kJobsMax));
  if (dry_run) return true;
  jobs[job.name] = job.body;
  const auto seen = there ? std::optional(there->version) : std::nullopt;
  const auto kept = documents.replace(name, json::write(jobs) + "\n", session::expect(seen));
  if (!kept) return kept.error();
  return true;
}

Result<bool> keep_instructions(session::Documents& documents, const Definition& in, bool dry_run) {
  const std::string name = "Reef.md";
  REEF_TRY(const auto there, documents.read(name, kHomeFileBytesMax));
  if (there && there->bytes == in.text) return false;
  if (there)
    return Error(Errc::conflict, name + " is there and says something else; put them together");
  if (dry_run) return true;
  REEF_CHECK(add(documents, name, in.text));
  return true;
}

struct Copying {
  std::size_t files_left = kSkillFilesMax;
  std::uint64_t bytes_left = kSkillBytesMax;
};

// What lies in the folder; links and hidden files are left. `names` are the documents made of it.
Status copy_folder(Files& files, const std::string& from, session::Documents& documents,
                   const std::string& to, int depth, Copying& left,
                   std::vector<std::string>& names) {
  const auto found = files.list(from);
  if (!found) return found.error();
  for (const auto& name : *found) {
    if (name.starts_with('.') || name == "SKILL.md") continue;
    const auto source = files.open(from + "/" + name, Files::Open::plain);
    const auto stat = source ? files.stat(source->get()) : Result<Files::Stat>(source.error());
    if (!stat) continue;  // a link, or gone
    const auto target = to + "/" + name;
    if (stat->directory) {
      if (depth == 0) return Error(Errc::invalid, from + ": folders too deep in each other");
      REEF_CHECK(copy_folder(files, from + "/" + name, documents, target, depth - 1, left, names));
    } else if (stat->regular) {
      if (left.files_left == 0 || stat->size > left.bytes_left)
        return Error(Errc::invalid,
                     fmt::format("more than {} files or {} bytes", kSkillFilesMax, kSkillBytesMax));
      --left.files_left;
      left.bytes_left -= stat->size;
      REEF_TRY(const auto bytes, read_range(files, source->get(), 0, stat->size));
      names.push_back(target);
      REEF_CHECK(add(documents, target, bytes));
    }
  }
  return Ok{};
}

// Its SKILL.md comes last: without it, what lies there is no skill.
Result<bool> keep_skill(Files& files, session::Documents& documents, const Definition& skill,
                        bool dry_run) {
  if (auto name = session::check_name("skill", skill.name); !name) return std::move(name).error();
  if (skill.name.find('/') != std::string::npos || skill.name.starts_with('.'))
    return Error(Errc::invalid, "a folder cannot be called so");
  const auto place = "skills/" + skill.name;
  for (const auto* main : {"SKILL.md", "skill.md"})
    if (is_taken(documents, place + "/" + main)) return false;
  if (dry_run) return true;
  std::vector<std::string> names;
  const auto keep = [&]() -> Status {
    Copying left;
    if (const auto folder = json::find_string(skill.body, "folder"))
      REEF_CHECK(
          copy_folder(files, std::string(*folder), documents, place, kSkillDepthMax, left, names));
    return add(documents, place + "/SKILL.md", skill.text);
  };
  auto done = keep();
  if (done) return true;
  for (const auto& name : names)
    static_cast<void>(documents.remove(name, session::Whatever{}).ok());
  return std::move(done).error();
}

}  // namespace

std::string describe(const Definition& definition) {
  return fmt::format("{} {}", word_of(definition.kind), utf8::excerpt(definition.name));
}

Result<bool> keep_definition(Files& files, session::Documents& documents,
                             const Definition& definition, bool dry_run) {
  switch (definition.kind) {
    case Definition::Kind::agent:
      return keep_agent(documents, definition, dry_run);
    case Definition::Kind::cron:
      return keep_job(documents, definition, dry_run);
    case Definition::Kind::skill:
      return keep_skill(files, documents, definition, dry_run);
    case Definition::Kind::instructions:
      return keep_instructions(documents, definition, dry_run);
    default:
      return Error(Errc::invalid, "it is kept elsewhere");
  }
}

}  // namespace reef::exchange
