// One message a line, for pipes; docs/formats/ndjson.md tells the fields.

#include <unordered_set>

#include "base/overload.h"
#include "exchange/text/text.h"

namespace reef::exchange {
namespace {

// Adds the blocks of content besides text.
void add_blocks(json::object& line, const std::vector<session::Block>& blocks) {
  std::string thinking;
  json::array calls, images;
  for (const auto& block : blocks) {
    if (const auto* thought = std::get_if<session::ThinkingBlock>(&block)) {
      if (!thinking.empty()) thinking.push_back('\n');
      thinking += thought->thinking;
    } else if (const auto* call = std::get_if<session::ToolCallBlock>(&block)) {
      calls.push_back(
          json::object{{"id", call->id}, {"name", call->name}, {"arguments", call->arguments}});
    } else if (const auto* image = std::get_if<session::ImageBlock>(&block)) {
      images.push_back(json::object{{"mimeType", image->mime_type}, {"data", image->data}});
    }
  }
  if (!thinking.empty()) line["thinking"] = std::move(thinking);
  if (!calls.empty()) line["toolCalls"] = std::move(calls);
  if (!images.empty()) line["images"] = std::move(images);
}

void add_message(json::object& line, const session::Message& message) {
  line["role"] = session::role_of(message);
  line["text"] = session::text_of(message);
  std::visit(Overload{
                 [&](const session::UserMessage& m) { add_blocks(line, m.content); },
                 [&](const session::AssistantMessage& m) {
                   add_blocks(line, m.content);
                   line["provider"] = m.provider;
                   line["model"] = m.model;
                   line["stopReason"] = session::name_of(m.stop_reason);
                   if (!m.error_message.empty()) line["error"] = m.error_message;
                   line["usage"] = json::object{{"input", m.usage.input},
                                                {"output", m.usage.output},
                                                {"cacheRead", m.usage.cache_read},
                                                {"cacheWrite", m.usage.cache_write},
                                                {"costUsd", m.usage.cost.total}};
                 },
                 [&](const session::ToolResultMessage& m) {
                   add_blocks(line, m.content);
                   line["toolCallId"] = m.tool_call_id;
                   line["toolName"] = m.tool_name;
                   line["isError"] = m.is_error;
                 },
                 [&](const session::BashMessage& m) {
                   line["command"] = m.command;
                   line["text"] = m.output;
                   if (m.exit_code) line["exitCode"] = *m.exit_code;
                 },
                 [&](const session::CustomMessage& m) {
                   add_blocks(line, m.content);
                   line["customType"] = m.custom_type;
                 },
                 [&](const session::SummaryMessage&) {},
                 [&](const session::OtherMessage& m) {
                   add_blocks(line, session::content_from_json(m.raw));
                 },
             },
             message);
}

// False when the entry says nothing.
bool add_what_is_said(json::object& line, const session::Entry& entry) {
  if (session::is_hidden(entry)) return false;
  if (const auto message = session::message_of(entry)) {
    add_message(line, *message);
    return true;
  }
  if (entry.type == "custom_message") {
    add_message(line, session::CustomMessage{
                          std::string(json::find_string(entry.body, "customType").value_or("")),
                          session::content_from_json(entry.body),
                          {}});
    return true;
  }
  const bool compaction = entry.type == "compaction";
  if (!compaction && entry.type != "branch_summary") return false;
  line["role"] = compaction ? "compactionSummary" : "branchSummary";
  line["text"] = json::find_string(entry.body, "summary").value_or("");
  return true;
}

class NdjsonWriter final : public Writer {
 public:
  explicit NdjsonWriter(Outlet& outlet) : outlet_(outlet) {}

  Status add(const Exported& session) override {
    REEF_CHECK(outlet_.begin(session.row.id.text() + ".ndjson"));
    std::unordered_set<const session::Entry*> current;
    for (const auto* entry : session.transcript.branch()) current.insert(entry);
    const auto& entries = session.transcript.entries();
    // The nearest entry above that says something, or the entry itself. The lines of its children
    // name it.
    std::vector<const session::Entry*> spoken(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& entry = entries[i];
      const auto parent = session.transcript.parents()[i];
      const auto* above = parent < i ? spoken[parent] : nullptr;
      json::object line{{"session", session.row.id.text()},
                        {"title", session.row.name()},
                        {"key", session.row.key()},
                        {"id", entry.id.text},
                        {"parentId", above ? json::value(above->id.text) : json::value(nullptr)},
                        {"time", format_iso(entry.time)},
                        {"current", current.contains(&entry)}};
      const bool speaks = add_what_is_said(line, entry);
      spoken[i] = speaks ? &entry : above;
      if (speaks) REEF_CHECK(outlet_.write(json::write(line) + "\n"));
    }
    return outlet_.end();
  }
  Status finish() override { return Ok{}; }

 private:
  Outlet& outlet_;
};

}  // namespace

std::unique_ptr<Writer> ndjson_writer(Outlet& outlet) {
  return std::make_unique<NdjsonWriter>(outlet);
}

}  // namespace reef::exchange
