#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "exchange/craft/bundle.h"
#include "exchange/craft/craft.h"
#include "exchange/craft/lines.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

constexpr std::string_view kTranscript = "session.jsonl";
constexpr int kFolderDepthMax = 4;
// The parents of branches are read first, up to this many generations.
constexpr int kLineageMax = 64;

// {{SESSION_PATH}} stands for the session's folder, as it is written inside JSON.
std::string with_session_path(std::string_view line, std::string_view folder) {
  const auto quoted = json::write(json::value(folder));
  const auto inside = std::string_view(quoted).substr(1, quoted.size() - 2);
  std::string out;
  for (;;) {
    const auto at = line.find(kSessionPath);
    out += line.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += inside;
    line.remove_prefix(at + kSessionPath.size());
  }
}

// The sessions of one folder.
class Folder {
 public:
  Folder(Files& files, std::string path, Intake& intake)
      : files_(files), path_(std::move(path)), intake_(intake) {}

  // A folder that holds no session is reported and skipped.
  Status read(const std::string& id);

 private:
  struct Transcript {
    std::string path;
    LineReader lines;
  };
  std::optional<Transcript> open(const std::string& folder);
  Result<std::string> origin_of_parent(const json::object& header, const std::string& id);

  Files& files_;
  std::string path_;
  Intake& intake_;
  std::set<std::string> read_;
  int lineage_ = 0;
};

// A save that was cut short leaves only the temporary file.
std::optional<Folder::Transcript> Folder::open(const std::string& folder) {
  std::optional<Error> error;
  for (const auto* ending : {"", ".tmp"}) {
    auto path = fmt::format("{}/{}{}", folder, kTranscript, ending);
    auto lines = LineReader::open(files_, path);
    if (lines) return Transcript{std::move(path), *std::move(lines)};
    if (!error) error = std::move(lines).error();
    if (error->code != Errc::not_found) break;
  }
  intake_.problem({fmt::format("{}/{}", folder, kTranscript), 0, error->what});
  return std::nullopt;
}

// Craft names the folder a branch came from by its old path. The parent is read first.
Result<std::string> Folder::origin_of_parent(const json::object& header, const std::string& id) {
  const auto path = json::find_string(header, "branchFromSessionPath").value_or("");
  const std::string parent(base_name(path));
  if (parent.empty() || parent == id || parent == "." || parent == "..") return std::string();
  const auto folder = path_ + "/" + parent;
  if (!is_there(files_, fmt::format("{}/{}", folder, kTranscript))) return std::string();
  if (lineage_ < kLineageMax) {
    ++lineage_;
    REEF_CHECK(read(parent));
    --lineage_;
  }
  auto lines = LineReader::open(files_, fmt::format("{}/{}", folder, kTranscript));
  if (!lines) return std::string();
  const auto first = lines->next();
  if (!first || !*first) return std::string();
  const auto value = json::parse_lenient((*first)->text);
  if (!value || !value->is_object()) return std::string();
  return craft_origin(value->get_object(), parent);
}

Status Folder::read(const std::string& id) {
  if (!read_.insert(id).second) return Ok{};
  const auto folder = path_ + "/" + id;
  auto transcript = open(folder);
  if (!transcript) return Ok{};
  auto& lines = transcript->lines;
  Report report(intake_, transcript->path);

  std::optional<CraftSession> session;
  const auto start = [&](json::object header) -> Status {
    CraftSession::Place place;
    place.path = folder;
    place.id = id;
    place.mark = source_mark(lines.stat());
    place.modified = modified_time(lines.stat());
    REEF_TRY(place.parent, origin_of_parent(header, id));
    session.emplace(intake_, std::move(place),
                    [this, folder] { return bring_files(files_, folder, intake_); });
    session->header(std::move(header));
    return Ok{};
  };

  bool begun = false;
  for (;;) {
    if (intake_.cancelled()) return Error(Errc::cancelled, "the import was given up");
    auto next = lines.next();
    if (!next) {
      report(0, std::move(next).error().what);
      break;
    }
    intake_.consumed(lines.consumed());
    if (!*next) break;
    const auto& line = **next;
    const LineInHand in_hand(begun ? line.text.size() : 0);
    auto text = line.text;
    std::string expanded;
    if (text.find(kSessionPath) != std::string_view::npos) {
      expanded = with_session_path(text, folder);
      text = expanded;
    }
    auto value = json::parse_lenient(text);
    if (line.too_long || !value || !value->is_object()) {
      report(line.number, line.too_long ? fmt::format("a line of more than {} bytes", kLineBytesMax)
                          : !line.ended ? "the last line is cut short"
                          : value       ? "not an object"
                                        : std::move(value).error().what);
      continue;
    }
    auto& object = value->get_object();
    if (!session) {
      const bool is_header =
          line.number == 1 && !object.contains("type") && !object.contains("role");
      REEF_CHECK(start(is_header ? std::move(object) : json::object()));
      if (is_header) continue;
      report(line.number, "there is no header before this; the folder's name and time are used");
    }
    const auto seed = fmt::format("{}\n{}", line.number, stable_id(line.text).text);
    REEF_TRY(const auto wrong, session->line(std::move(object), seed));
    begun = true;
    if (!wrong.empty()) report(line.number, wrong);
    if (session->unwanted()) {
      intake_.consumed(lines.left());
      return Ok{};
    }
  }
  if (!session) {
    if (lines.stat().size == 0) report(0, "the file is empty");
    return Ok{};
  }
  return session->finish();
}

// --- workspaces ---

// nullopt when the file is not there, or cannot be read, which is reported.
std::optional<json::object> read_config(Files& files, const std::string& path, Intake& intake) {
  const auto text = read_source(files, path);
  if (!text) {
    if (text.error().code != Errc::not_found) intake.problem({path, 0, text.error().what});
    return std::nullopt;
  }
  intake.consumed(text->size());
  auto value = json::parse_lenient(*text);
  if (!value || !value->is_object()) {
    intake.problem({path, 0, value ? "not an object" : std::move(value).error().what});
    return std::nullopt;
  }
  return std::move(value->get_object());
}

// A colour is a name, or a pair of one for light and one for dark.
void copy_colour(const json::object& from, json::object& to) {
  if (const auto colour = json::find_string(from, "color")) {
    to["color"] = *colour;
  } else if (const auto* both = json::find_object(from, "color")) {
    if (const auto light = json::find_string(*both, "light")) to["color"] = *light;
    if (const auto dark = json::find_string(*both, "dark")) to["colorDark"] = *dark;
  }
}

void copy_text(const json::object& from, std::string_view key, json::object& to,
               std::string_view as) {
  if (const auto text = json::find_string(from, key)) to[as] = *text;
}

Status read_statuses(Files& files, const std::string& path, Intake& intake) {
  const auto config = read_config(files, path, intake);
  if (!config) return Ok{};
  const auto* list = json::find_array(*config, "statuses");
  if (!list) {
    intake.problem({path, 0, "it has no list of statuses"});
    return Ok{};
  }
  for (const auto& item : *list) {
    const auto* status = item.if_object();
    const auto id = status ? json::find_string(*status, "id") : std::nullopt;
    if (!id || id->empty()) {
      intake.problem({path, 0, "a status without id"});
      continue;
    }
    Definition definition;
    definition.kind = Definition::Kind::status;
    definition.name = *id;
    copy_text(*status, "label", definition.body, "label");
    copy_text(*status, "category", definition.body, "category");
    copy_text(*status, "icon", definition.body, "icon");
    copy_colour(*status, definition.body);
    if (const auto order = json::find_int(*status, "order")) definition.body["order"] = *order;
    REEF_CHECK(intake.define(std::move(definition)));
  }
  return Ok{};
}

Status define_labels(const json::array& list, std::string_view parent, int depth,
                     const std::string& path, Intake& intake) {
  for (const auto& item : list) {
    const auto* label = item.if_object();
    const auto id = label ? json::find_string(*label, "id") : std::nullopt;
    if (!id || id->empty()) {
      intake.problem({path, 0, "a label without id"});
      continue;
    }
    Definition definition;
    definition.kind = Definition::Kind::label;
    definition.name = *id;
    if (!parent.empty()) definition.body["parent"] = parent;
    copy_text(*label, "name", definition.body, "name");
    copy_text(*label, "valueType", definition.body, "type");
    copy_colour(*label, definition.body);
    json::array rules;
    if (const auto* own = json::find_array(*label, "autoRules"))
      for (const auto& rule : *own) {
        const auto* object = rule.if_object();
        const auto pattern = object ? json::find_string(*object, "pattern") : std::nullopt;
        if (!pattern) continue;
        json::object made{{"pattern", *pattern}};
        copy_text(*object, "flags", made, "flags");
        copy_text(*object, "valueTemplate", made, "value");
        rules.push_back(std::move(made));
      }
    if (!rules.empty()) definition.body["rules"] = std::move(rules);
    REEF_CHECK(intake.define(std::move(definition)));
    const auto* children = json::find_array(*label, "children");
    if (!children) continue;
    if (depth >= kFolderDepthMax) {
      intake.problem({path, 0, fmt::format("label '{}' has labels too deep below it", *id)});
      continue;
    }
    REEF_CHECK(define_labels(*children, *id, depth + 1, path, intake));
  }
  return Ok{};
}

Status read_labels(Files& files, const std::string& path, Intake& intake) {
  const auto config = read_config(files, path, intake);
  if (!config) return Ok{};
  const auto* list = json::find_array(*config, "labels");
  if (list) return define_labels(*list, "", 0, path, intake);
  intake.problem({path, 0, "it has no list of labels"});
  return Ok{};
}

// Returns how many folders there were.
Result<std::size_t> read_sessions(Files& files, const std::string& path, Intake& intake) {
  const auto names = files.list(path);
  if (!names) {
    intake.problem({path, 0, names.error().what});
    return std::size_t{0};
  }
  Folder folder(files, path, intake);
  std::size_t count = 0;
  for (const auto& name : *names) {
    if (intake.cancelled()) return Error(Errc::cancelled, "the import was given up");
    if (name.starts_with('.') || !is_directory(files, path + "/" + name)) continue;
    ++count;
    REEF_CHECK(folder.read(name));
  }
  return count;
}

Status read_workspace(Files& files, const std::string& path, Intake& intake) {
  REEF_CHECK(read_statuses(files, path + "/statuses/config.json", intake));
  REEF_CHECK(read_labels(files, path + "/labels/config.json", intake));
  REEF_TRY(const auto count, read_sessions(files, path + "/sessions", intake));
  static_cast<void>(count);
  return Ok{};
}

// Workspaces live below the application's folder, and wherever its configuration says.
Status read_root(Files& files, const std::string& path, Intake& intake) {
  std::vector<std::string> workspaces;
  const auto names = files.list(path + "/workspaces");
  if (names)
    for (const auto& name : *names)
      workspaces.push_back(fmt::format("{}/workspaces/{}", path, name));
  if (const auto config = read_config(files, path + "/config.json", intake))
    if (const auto* list = json::find_array(*config, "workspaces"))
      for (const auto& item : *list)
        if (const auto* workspace = item.if_object())
          for (const auto* key : {"rootPath", "path"}) {
            std::string root(json::find_string(*workspace, key).value_or(""));
            const char* home = std::getenv("HOME");
            if (root.starts_with("~/") && home) root.replace(0, 1, home);
            while (root.size() > 1 && root.ends_with('/')) root.pop_back();
            if (root.starts_with('/')) workspaces.push_back(std::move(root));
          }
  std::set<std::string> read;
  for (const auto& workspace : workspaces)
    if (read.insert(workspace).second && is_directory(files, workspace + "/sessions"))
      REEF_CHECK(read_workspace(files, workspace, intake));
  return Ok{};
}

// Reef's own transcripts have the same name and another first line.
bool is_session(Files& files, const std::string& transcript) {
  const auto header = first_object(files, transcript);
  return header && header->contains("id") && !header->contains("type");
}

bool holds_sessions(Files& files, const std::string& folder) {
  const auto names = files.list(folder);
  return names && std::any_of(names->begin(), names->end(), [&](const std::string& name) {
           return is_session(files, fmt::format("{}/{}/{}", folder, name, kTranscript));
         });
}

}  // namespace

Status read_craft(Files& files, const std::string& given, Intake& intake) {
  auto path = given;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  REEF_TRY(const auto stat, files.stat_path(path));
  if (!stat.directory) {
    if (base_name(path) != kTranscript) return read_craft_bundle(files, path, intake);
    path = parent_path(path);
  }
  const auto transcript = fmt::format("{}/{}", path, kTranscript);
  if (is_there(files, transcript) || is_there(files, transcript + ".tmp"))
    return Folder(files, parent_path(path), intake).read(std::string(base_name(path)));
  if (is_directory(files, path + "/workspaces")) return read_root(files, path, intake);
  if (is_directory(files, path + "/sessions")) return read_workspace(files, path, intake);
  REEF_TRY(const auto count, read_sessions(files, path, intake));
  if (count == 0)
    return Error(Errc::not_found, fmt::format("there are no Craft sessions in {}", path));
  return Ok{};
}

bool is_craft(Files& files, const std::string& path) {
  if (!is_directory(files, path))
    return base_name(path) == kTranscript ? is_session(files, path) : is_craft_bundle(files, path);
  const auto transcript = fmt::format("{}/{}", path, kTranscript);
  if (is_session(files, transcript) || is_session(files, transcript + ".tmp")) return true;
  if (holds_sessions(files, path) || holds_sessions(files, path + "/sessions")) return true;
  const auto workspaces = files.list(path + "/workspaces");
  return workspaces &&
         std::any_of(workspaces->begin(), workspaces->end(), [&](const std::string& name) {
           return holds_sessions(files, fmt::format("{}/workspaces/{}/sessions", path, name));
         });
}

}  // namespace reef::exchange
