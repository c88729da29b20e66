#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "exchange/craft/craft.h"
#include "exchange/craft/lines.h"
#include "exchange/feed.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

using session::Entry;

constexpr std::size_t kCraftWriteBytes = 1 << 20;
// Craft lists no session whose header is longer than 8,192 bytes.
constexpr std::size_t kHeaderBytesMax = 8000;
// Craft takes no bundle with more than this in files.
constexpr std::uint64_t kBundleFileBytesMax = 100ULL << 20;
constexpr std::size_t kPreviewChars = 150;

// A valid id in Craft: letters, digits, '_' and '-'.
std::string craft_id(const session::SessionId& id) {
  auto out = id.text();
  std::replace(out.begin(), out.end(), '.', '-');
  return out;
}

// The role of a message; empty when it is hidden, because Craft would show it like any other.
std::string_view role_of(const Entry& entry) {
  const auto* message = json::find_object(entry.body, "message");
  if (entry.type != "message" || !message || session::is_hidden(entry)) return "";
  return json::find_string(*message, "role").value_or("");
}

// Whether the entry gets a line. Other entries are carried in the extra of a line near them.
bool has_words(const Entry& entry) {
  return entry.type == "compaction" || entry.type == "custom_message" ||
         entry.type == "branch_summary" || (entry.type == "message" && !session::is_hidden(entry));
}

json::object header_of(const Exported& exported, const std::string& id,
                       const std::vector<const Entry*>& branch) {
  const auto& row = exported.row;
  json::object out{{"id", id},
                   {"createdAt", unix_millis(row.created)},
                   {"lastUsedAt", unix_millis(row.last_used())},
                   {"lastMessageAt", unix_millis(row.updated)}};
  for (const auto* field : {"name", "sessionStatus", "labels", "isFlagged", "isArchived",
                            "hasUnread", "permissionMode", "workingDirectory"})
    if (const auto* value = row.meta.if_contains(field)) out[field] = *value;
  // Craft knows no "minimal".
  if (const auto level = row.text("thinkingLevel"); !level.empty() && level != "minimal")
    out["thinkingLevel"] = level;
  if (const auto model = row.text("modelOverride"); !model.empty()) out["model"] = model;
  if (!row.cwd.empty()) out["sdkCwd"] = row.cwd;
  for (const auto* entry : branch) {
    if (json::find_string(entry->body, "customType") != "craft.header") continue;
    const auto* data = json::find_object(entry->body, "data");
    for (const auto* field : {"model", "llmConnection", "enabledSourceSlugs", "hidden",
                              "archivedAt", "triggeredBy", "sharedUrl", "sharedId"})
      if (const auto* value = data ? data->if_contains(field) : nullptr) out.emplace(field, *value);
  }
  out["messageCount"] = row.message_count;
  out["preview"] = utf8::prefix_chars(row.preview, kPreviewChars);
  // In Craft, input is the last request's, and the total is that and all output.
  auto input = row.context_tokens;
  if (const auto* came = json::find_object(row.meta, "originUsage"); came && input == 0)
    input = json::find_int(*came, "input").value_or(0);
  out["tokenUsage"] = json::object{{"inputTokens", input},
                                   {"outputTokens", row.usage.output},
                                   {"totalTokens", input + row.usage.output},
                                   {"contextTokens", 0},
                                   {"costUsd", row.usage.cost}};
  // These fields may go, because something else says the same.
  for (const auto* field : {"preview", "labels", "triggeredBy", "enabledSourceSlugs", "name"})
    if (json::write(out).size() > kHeaderBytesMax) out.erase(field);
  return out;
}

// Keeps a literal {{SESSION_PATH}} in somebody's words from meaning the session's folder.
std::string literal(std::string text) {
  for (auto at = text.find(kSessionPath); at != std::string::npos; at = text.find(kSessionPath, at))
    text.replace(at, 1, "\\u007b");
  return text;
}

// Gives the lines of one session to `emit`, one after the other.
class LineMaker {
 public:
  using Emit = std::function<Status(const std::string&)>;

  LineMaker(const Exported& exported, Emit emit) : exported_(exported), emit_(std::move(emit)) {
    for (const auto* entry : exported.transcript.branch())
      if (!is_meta(*entry)) branch_.push_back(entry);
    for (const auto& file : exported.files) files_.insert(file.path);
  }

  // When there is no line to carry the entries, the header's extra does.
  std::string header(const std::string& id) const;
  Status write();

 private:
  struct Line {
    json::object body;
    json::object references;  // members that name files of the session
  };

  json::object about_session() const;
  bool has_lines() const {
    return std::any_of(branch_.begin(), branch_.end(),
                       [](auto* entry) { return has_words(*entry); });
  }
  Status put(Line line);
  Status flush();
  Status user(const Entry& entry);
  // Writes the assistant's message at `at` and the results that follow it; returns where to go on.
  Result<std::size_t> assistant(std::size_t at);
  Status orphan(const Entry& entry);
  Status info(const Entry& entry);
  std::optional<std::string> reference(const json::object& in, std::string_view key) const;
  static std::string text_for_info(const Entry& entry);

  const Exported& exported_;
  Emit emit_;
  std::vector<const Entry*> branch_;
  std::set<std::string, std::less<>> files_;
  std::optional<Line> held_;
  json::array carried_;
  bool first_ = true;
};

json::object LineMaker::about_session() const {
  const auto& row = exported_.row;
  return json::object{{"id", row.id.text()}, {"cwd", row.cwd}, {"meta", portable_meta(row)}};
}

std::string LineMaker::header(const std::string& id) const {
  auto header = header_of(exported_, id, branch_);
  if (!has_lines()) {
    json::array after;
    for (const auto* entry : branch_) after.push_back(entry->body);
    header[kExtra] = json::object{{"session", about_session()}, {"after", std::move(after)}};
  }
  return literal(json::write(header));
}

Status LineMaker::put(Line line) {
  auto& extra = line.body[kExtra].get_object();
  if (std::exchange(first_, false)) extra["session"] = about_session();
  if (!carried_.empty()) extra["before"] = std::exchange(carried_, {});
  REEF_CHECK(flush());
  held_ = std::move(line);
  return Ok{};
}

Status LineMaker::flush() {
  if (!held_) return Ok{};
  auto text = literal(json::write(held_->body));
  if (!held_->references.empty()) {
    text.back() = ',';
    text += std::string_view(json::write(held_->references)).substr(1);
  }
  held_.reset();
  return emit_(text);
}

Status LineMaker::write() {
  if (!has_lines()) return Ok{};
  for (std::size_t i = 0; i < branch_.size();) {
    const auto& entry = *branch_[i];
    const auto role = role_of(entry);
    if (role == "assistant") {
      REEF_TRY(i, assistant(i));
      continue;
    }
    if (role == "user") {
      REEF_CHECK(user(entry));
    } else if (role == "toolResult") {
      REEF_CHECK(orphan(entry));
    } else if (has_words(entry)) {
      REEF_CHECK(info(entry));
    } else {
      carried_.push_back(entry.body);
    }
    ++i;
  }
  if (!carried_.empty()) held_->body[kExtra].get_object()["after"] = std::move(carried_);
  return flush();
}

std::optional<std::string> LineMaker::reference(const json::object& in,
                                                std::string_view key) const {
  const auto path = json::find_string(in, key);
  if (!path || !files_.contains(*path)) return std::nullopt;
  return fmt::format("{}/{}", kSessionPath, *path == "data/notes.md" ? "notes.md" : *path);
}

// The id the line had in Craft, when it came from there.
json::value line_id(const Entry& entry) {
  if (const auto* craft = json::find_object(entry.body, "craft"))
    if (const auto id = json::find_string(*craft, "id")) return json::value(*id);
  return json::value(entry.id.text);
}

Status LineMaker::user(const Entry& entry) {
  auto foreign = to_foreign(entry, {}, Thinking::in_layout);
  Line line;
  line.body = json::object{{"id", line_id(entry)},
                           {"content", std::move(foreign.parts.text)},
                           {"timestamp", unix_millis(entry.time)},
                           {"type", "user"}};
  auto* with = foreign.extra.if_contains("with");
  auto* craft = with ? with->get_object().if_contains("craft") : nullptr;
  if (craft && craft->is_object()) {
    auto* list = craft->get_object().if_contains("attachments");
    if (list && list->is_array()) {
      auto attachments = std::move(list->get_array());
      craft->get_object().erase("attachments");
      for (auto& attachment : attachments)
        if (auto* object = attachment.if_object())
          for (const auto* key : {"storedPath", "thumbnailPath", "markdownPath"})
            if (auto now = reference(*object, key)) (*object)[key] = *std::move(now);
      line.references["attachments"] = std::move(attachments);
    }
  }
  line.body[kExtra] = std::move(foreign.extra);
  return put(std::move(line));
}

struct CallLine {
  json::object line;
  bool answered = false;
};

json::object tool_line(const json::object& call, TimePoint time) {
  const auto name = json::find_string(call, "name").value_or("");
  return json::object{{"id", ""},
                      {"content", fmt::format("Running {}...", name)},
                      {"timestamp", unix_millis(time)},
                      {"toolName", name},
                      {"toolUseId", call.at("id")},
                      {"toolInput", call.at("arguments")},
                      {"toolStatus", "executing"},
                      {"type", "tool"},
                      {kExtra, json::object()}};
}

// Writes a result into the line of its call.
void answer(json::object& line, const Entry& entry, std::int64_t at) {
  const auto& message = entry.body.at("message").get_object();
  const bool same_tool =
      json::find_string(message, "toolName") == json::find_string(line, "toolName");
  auto foreign = same_tool
                     ? to_foreign(entry, {"toolCallId", "toolName", "isError"}, Thinking::in_layout)
                     : to_foreign(entry, {"toolCallId", "isError"}, Thinking::in_layout);
  const bool failed = json::find_bool(message, "isError").value_or(false);
  line["toolResult"] = std::move(foreign.parts.text);
  line["isError"] = failed;
  line["toolStatus"] = failed ? "error" : "completed";
  foreign.extra["time"] = unix_millis(entry.time);
  foreign.extra["at"] = at;
  line[kExtra].get_object()["result"] = std::move(foreign.extra);
}

Result<std::size_t> LineMaker::assistant(std::size_t at) {
  const auto& entry = *branch_[at];
  const auto& message = entry.body.at("message").get_object();
  auto foreign = to_foreign(entry, {}, Thinking::in_layout);
  auto& parts = foreign.parts;

  std::vector<CallLine> calls;
  for (const auto& call : parts.calls)
    calls.push_back(CallLine{tool_line(call.get_object(), entry.time), false});
  std::size_t next = at + 1;
  for (; next < branch_.size() && role_of(*branch_[next]) == "toolResult"; ++next) {
    const auto& result = branch_[next]->body.at("message").get_object();
    const auto id = json::find_string(result, "toolCallId");
    const auto asked = std::find_if(calls.begin(), calls.end(), [&](const CallLine& call) {
      return id && !call.answered && json::find_string(call.line, "toolUseId") == *id;
    });
    if (asked == calls.end()) break;
    answer(asked->line, *branch_[next], static_cast<std::int64_t>(next - at));
    asked->answered = true;
  }

  // The first line holds all there is to say of the message; the others name it.
  bool told = false;
  if (!parts.text.empty() || calls.empty()) {
    Line line;
    const auto error = json::find_string(message, "errorMessage").value_or("");
    const auto* craft = json::find_object(entry.body, "craft");
    const bool failed = parts.text.empty() && !error.empty();
    const bool plan = craft && json::find_string(*craft, "kind") == "plan";
    line.body =
        json::object{{"id", line_id(entry)},
                     {"content", failed ? json::value(error) : json::value(std::move(parts.text))},
                     {"timestamp", unix_millis(entry.time)},
                     {"turnId", entry.id.text},
                     {"type", failed ? "error"
                              : plan ? "plan"
                                     : "assistant"}};
    if (!calls.empty()) line.body["isIntermediate"] = true;
    if (plan)
      if (auto path = reference(*craft, "planPath")) line.references["planPath"] = *std::move(path);
    line.body[kExtra] = foreign.extra;
    told = true;
    REEF_CHECK(put(std::move(line)));
  }
  std::size_t number = 0;
  for (auto& call : calls) {
    call.line["turnId"] = entry.id.text;
    auto& extra = call.line[kExtra].get_object();
    if (std::exchange(told, true)) {
      call.line["id"] = fmt::format("{}-{}", entry.id.text, ++number);
      extra["of"] = entry.id.text;
    } else {
      call.line["id"] = line_id(entry);
      for (auto& [key, value] : foreign.extra) extra[key] = std::move(value);
    }
    REEF_CHECK(put(Line{std::move(call.line), {}}));
  }
  return next;
}

// Writes a result whose call is not in the message before it.
Status LineMaker::orphan(const Entry& entry) {
  const auto& message = entry.body.at("message").get_object();
  const json::object call{{"id", json::find_string(message, "toolCallId").value_or("")},
                          {"name", json::find_string(message, "toolName").value_or("")},
                          {"arguments", json::object()}};
  auto line = tool_line(call, entry.time);
  line["id"] = line_id(entry);
  answer(line, entry, 0);
  line[kExtra].get_object()["orphan"] = true;
  return put(Line{std::move(line), {}});
}

std::string LineMaker::text_for_info(const Entry& entry) {
  if (entry.type == "compaction") return "Compacted conversation";
  if (entry.type == "custom_message")
    return session::text_of(session::content_from_json(entry.body));
  if (entry.type == "branch_summary")
    return std::string(json::find_string(entry.body, "summary").value_or(""));
  const auto message = session::message_of(entry);
  return message ? session::text_of(*message) : "";
}

Status LineMaker::info(const Entry& entry) {
  Line line;
  line.body = json::object{{"id", entry.id.text},
                           {"content", text_for_info(entry)},
                           {"timestamp", unix_millis(entry.time)},
                           {"type", "info"},
                           {kExtra, json::object{{"entry", entry.body}}}};
  if (entry.type == "compaction") line.body["statusType"] = "compaction_complete";
  return put(std::move(line));
}

// --- where the lines go ---

// Gives both writers a free name for each session, and collects small writes.
class CraftWriter : public Writer {
 public:
  explicit CraftWriter(Outlet& outlet) : outlet_(outlet) {}
  Status finish() override { return Ok{}; }

 protected:
  std::string free_id(const session::SessionId& id) {
    const auto base = craft_id(id);
    auto out = base;
    for (int n = 2; !ids_.insert(out).second; ++n) out = fmt::format("{}-{}", base, n);
    return out;
  }
  Status write(std::string_view bytes) {
    pending_ += bytes;
    return pending_.size() >= kCraftWriteBytes ? flush() : Ok{};
  }
  Status flush() {
    auto written = outlet_.write(pending_);
    pending_.clear();
    return written;
  }
  static std::string path_there(const Exported::File& file) {
    return file.path == "data/notes.md" ? "notes.md" : file.path;
  }

  Outlet& outlet_;

 private:
  std::set<std::string> ids_;
  std::string pending_;
};

class FolderWriter final : public CraftWriter {
 public:
  using CraftWriter::CraftWriter;

  Status add(const Exported& session) override {
    const auto id = free_id(session.row.id);
    LineMaker lines(session, [this](const std::string& line) { return write(line + "\n"); });
    REEF_CHECK(outlet_.begin(fmt::format("sessions/{}/session.jsonl", id)));
    REEF_CHECK(write(lines.header(id) + "\n"));
    REEF_CHECK(lines.write());
    REEF_CHECK(flush());
    REEF_CHECK(outlet_.end());
    for (const auto& file : session.files) {
      REEF_CHECK(outlet_.begin(fmt::format("sessions/{}/{}", id, path_there(file))));
      REEF_TRY(const auto size, read_in_pieces(session, file, [this](std::string_view piece) {
                 return outlet_.write(piece);
               }));
      static_cast<void>(size);
      REEF_CHECK(outlet_.end());
    }
    return Ok{};
  }
};

class BundleWriter final : public CraftWriter {
 public:
  using CraftWriter::CraftWriter;

  Status add(const Exported& session) override {
    const auto id = free_id(session.row.id);
    bool first = true;
    LineMaker lines(session, [&](const std::string& line) {
      return write((std::exchange(first, false) ? "" : ",\n") + line);
    });
    REEF_CHECK(outlet_.begin(id + ".json"));
    REEF_CHECK(
        write("{\"version\":1,\"session\":{\"header\":" + lines.header(id) + ",\n\"messages\":["));
    REEF_CHECK(lines.write());
    REEF_CHECK(write("]},\n\"files\":["));
    REEF_TRY(const auto left_out, write_files(session));
    REEF_CHECK(write("]"));
    if (!left_out.empty()) REEF_CHECK(write(",\n\"filesLeftOut\":" + json::write(left_out)));
    REEF_CHECK(write("}\n"));
    REEF_CHECK(flush());
    return outlet_.end();
  }

 private:
  // Returns the paths of the files that did not fit.
  Result<json::array> write_files(const Exported& session) {
    json::array left_out;
    std::uint64_t total = 0;
    bool first = true;
    for (const auto& file : session.files) {
      const json::value path(path_there(file));
      if (file.bytes > kBundleFileBytesMax - total) {
        left_out.push_back(path);
        continue;
      }
      REEF_CHECK(write(std::string(std::exchange(first, false) ? "" : ",\n") +
                       "{\"relativePath\":" + json::write(path) + ",\"contentBase64\":\""));
      REEF_TRY(const auto size, read_in_pieces(session, file, [this](std::string_view piece) {
                 return write(to_base64(piece));
               }));
      total += std::min(size, kBundleFileBytesMax - total);
      REEF_CHECK(write(fmt::format("\",\"size\":{}}}", size)));
    }
    return left_out;
  }
};

}  // namespace

std::unique_ptr<Writer> craft_writer(Outlet& outlet) {
  return std::make_unique<FolderWriter>(outlet);
}

std::unique_ptr<Writer> craft_bundle_writer(Outlet& outlet) {
  return std::make_unique<BundleWriter>(outlet);
}

}  // namespace reef::exchange
