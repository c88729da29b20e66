#include <map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/crabtalk/crabtalk.h"
#include "exchange/feed.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kLinesBytes = 1 << 20;
constexpr std::size_t kTitleChars = 60;

// The title CrabTalk gives an archive.
std::string first_sentence(std::string_view summary) {
  const auto line = utf8::single_line(utf8::prefix(summary, kTitleChars * 8));
  const auto end = line.find(". ");
  return std::string(
      utf8::prefix_chars(end == std::string::npos ? line : line.substr(0, end + 1), kTitleChars));
}

json::array calls_of(const json::array& blocks) {
  json::array out;
  for (const auto& block : blocks) {
    const auto& call = block.get_object();
    out.push_back(
        json::object{{"index", out.size()},
                     {"id", call.at("id")},
                     {"type", "function"},
                     {"function", json::object{{"name", call.at("name")},
                                               {"arguments", json::write(call.at("arguments"))}}}});
  }
  return out;
}

// An entry CrabTalk has no words for; its readers skip events they do not know.
json::object as_event(const session::Entry& entry) {
  return json::object{{"event", kExtra}, {"entry", entry.body}};
}

// Text that is given to the model as the user's words is also the user's in CrabTalk.
json::object as_words(const session::Entry& entry, std::string text) {
  return json::object{{"role", "user"},
                      {"content", std::move(text)},
                      {kExtra, json::object{{"entry", entry.body}}}};
}

json::object message_line(const session::Entry& entry, const json::object& message) {
  const auto role = json::find_string(message, "role").value_or("");
  Foreign foreign;
  json::object inner;
  if (role == "user" || role == "system") {
    foreign = to_foreign(entry, {}, Thinking::in_layout);
    inner = json::object{{"role", role}, {"content", std::move(foreign.parts.text)}};
  } else if (role == "assistant") {
    foreign = to_foreign(entry, {}, Thinking::apart);
    auto& parts = foreign.parts;
    inner["role"] = role;
    inner["content"] =
        parts.text.empty() && !parts.calls.empty() ? json::value(nullptr) : json::value(parts.text);
    if (!parts.calls.empty()) inner["tool_calls"] = calls_of(parts.calls);
    if (!parts.thinking.empty()) inner["reasoning_content"] = std::move(parts.thinking);
  } else if (role == "toolResult") {
    foreign = to_foreign(entry, {"toolCallId", "toolName"}, Thinking::in_layout);
    inner = json::object{{"role", "tool"},
                         {"content", std::move(foreign.parts.text)},
                         {"tool_call_id", json::find_string(message, "toolCallId").value_or("")},
                         {"name", json::find_string(message, "toolName").value_or("")}};
  } else if (const auto words = session::message_of(entry);
             role == "bashExecution" || role == "custom" || role == "hookMessage") {
    return as_words(entry, session::text_of(*words));
  } else {
    return as_event(entry);
  }
  // Every version of CrabTalk can read flat lines.
  auto line = std::move(inner);
  if (const auto guest = json::find_string(entry.body, "agent"); guest && !guest->empty()) {
    line["agent"] = *guest;
    if (auto* with = foreign.extra.if_contains("with")) with->get_object().erase("agent");
  }
  foreign.extra["time"] = unix_millis(entry.time);
  line[kExtra] = std::move(foreign.extra);
  return line;
}

// The marker holds the summary, because there is no memory.db beside the file.
json::object compact_line(const session::Entry& entry) {
  const auto summary = json::find_string(entry.body, "summary").value_or("");
  auto extra = to_foreign(entry, {}, Thinking::in_layout).extra;
  extra["time"] = unix_millis(entry.time);
  if (auto* with = extra.if_contains("with")) with->get_object().erase("summary");
  return json::object{{"compact", summary},
                      {"title", first_sentence(summary)},
                      {"archived_at", format_iso(entry.time)},
                      {kExtra, std::move(extra)}};
}

json::object line_of(const session::Entry& entry) {
  // CrabTalk would show hidden words like any others.
  if (session::is_hidden(entry)) return as_event(entry);
  if (entry.type == "compaction") return compact_line(entry);
  if (const auto* message = json::find_object(entry.body, "message");
      message && entry.type == "message")
    return message_line(entry, *message);
  if (entry.type == "custom_message")
    return as_words(entry, session::text_of(session::content_from_json(entry.body)));
  if (entry.type == "branch_summary")
    return as_words(entry, std::string(json::find_string(entry.body, "summary").value_or("")));
  return as_event(entry);
}

class CrabtalkWriter final : public Writer {
 public:
  explicit CrabtalkWriter(Outlet& outlet) : outlet_(outlet) {}

  Status add(const Exported& session) override;
  Status finish() override { return Ok{}; }

 private:
  Status write(const json::object& line);
  Status flush();
  std::string path_for(const session::Row& row);

  Outlet& outlet_;
  std::string lines_;
  std::map<std::string, int> numbers_;         // how many of a pair there are
  std::map<std::string, std::string> owners_;  // pair -> agent and sender
};

std::string CrabtalkWriter::path_for(const session::Row& row) {
  const auto part = [](std::string_view name, std::string_view otherwise) {
    auto made = slug(name);
    return made.empty() ? std::string(otherwise) : made;
  };
  // CrabTalk's names for an agent and a sender that are not named.
  const std::string agent(row.agent().empty() ? "crab" : row.agent());
  const std::string sender(row.sender().empty() ? "user" : row.sender());
  auto pair = part(agent, "crab") + "_" + part(sender, "user");
  // CrabTalk goes on in the newest session whose name says the same, whoever it was with. Two
  // people whose names become the same there must not share a history.
  const auto who = agent + '\n' + sender;
  if (const auto [of, fresh] = owners_.try_emplace(pair, who); !fresh && of->second != who)
    pair += "-" + stable_id(who).text;
  const auto number = ++numbers_[pair];
  return fmt::format("sessions/{}_{}.jsonl", pair, number);
}

Status CrabtalkWriter::write(const json::object& line) {
  lines_ += json::write(line);
  lines_.push_back('\n');
  return lines_.size() >= kLinesBytes ? flush() : Ok{};
}

Status CrabtalkWriter::flush() {
  auto written = outlet_.write(lines_);
  lines_.clear();
  return written;
}

Status CrabtalkWriter::add(const Exported& session) {
  const auto& row = session.row;
  std::vector<const session::Entry*> branch;
  std::string_view summary;
  std::uint64_t messages = 0;
  for (const auto* entry : session.transcript.branch()) {
    if (is_meta(*entry)) continue;
    branch.push_back(entry);
    if (entry->type == "message" && !session::is_hidden(*entry)) ++messages;
    if (entry->type == "compaction")
      summary = json::find_string(entry->body, "summary").value_or("");
  }

  json::object meta{{"agent", row.agent().empty() ? "crab" : row.agent()},
                    {"created_by", row.sender().empty() ? "user" : row.sender()},
                    {"created_at", format_iso(row.created)},
                    {"title", row.name()},
                    {"uptime_secs", row.uptime_secs()},
                    {"updated_at", format_iso(row.updated)},
                    {"message_count", messages}};
  if (!summary.empty()) meta["summary"] = summary;
  meta[kExtra] =
      json::object{{"id", row.id.text()}, {"cwd", row.cwd}, {"meta", portable_meta(row)}};

  REEF_CHECK(outlet_.begin(path_for(row)));
  REEF_CHECK(write(meta));
  for (const auto* entry : branch) REEF_CHECK(write(line_of(*entry)));
  REEF_CHECK(flush());
  return outlet_.end();
}

}  // namespace

std::unique_ptr<Writer> crabtalk_writer(Outlet& outlet) {
  return std::make_unique<CrabtalkWriter>(outlet);
}

}  // namespace reef::exchange
