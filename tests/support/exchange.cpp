#include "support/exchange.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "base/overload.h"
#include "base/utf8.h"

namespace reef::test {
namespace {

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

}  // namespace

Result<bool> MemoryIntake::begin(exchange::Head head) {
  REEF_ASSERT(sessions_.empty() || sessions_.back().ended);
  REEF_ASSERT(!head.origin.empty());
  REEF_ASSERT(utf8::valid(head.origin) && utf8::valid(head.id) && utf8::valid(head.cwd));
  const auto known = known_.find(head.origin);
  if (known != known_.end() && !head.mark.empty() && known->second == head.mark) return false;
  ids_.clear();
  Session session;
  session.meta = head.meta;
  session.head = std::move(head);
  sessions_.push_back(std::move(session));
  return true;
}

Status MemoryIntake::entry(session::Entry entry, std::string_view line) {
  REEF_ASSERT(!sessions_.empty() && !sessions_.back().ended);
  REEF_ASSERT(!entry.id.text.empty());
  REEF_ASSERT(ids_.insert(entry.id.text).second);
  if (entry.parent) REEF_ASSERT(ids_.contains(entry.parent->text));
  // The entry's fields must agree with its body.
  REEF_ASSERT(json::find_string(entry.body, "type") == entry.type);
  REEF_ASSERT(json::find_string(entry.body, "id") == entry.id.text);
  const auto parent = json::find_string(entry.body, "parentId");
  REEF_ASSERT(parent.has_value() == entry.parent.has_value());
  if (parent) REEF_ASSERT(*parent == entry.parent->text);
  REEF_ASSERT(json::find_string(entry.body, "timestamp") == format_iso(entry.time));
  if (!line.empty()) {
    const auto said = json::parse(line);
    REEF_ASSERT(said && said->is_object() && said->get_object() == entry.body);
    REEF_ASSERT(line.find('\n') == std::string_view::npos);
  }
  sessions_.back().entries.push_back(std::move(entry));
  return Ok{};
}

Result<std::string> MemoryIntake::copy(std::string_view folder, std::string_view name,
                                       const std::string& from) {
  REEF_TRY(const auto bytes, read_all(files_, from));
  return put(folder, name, bytes);
}

Result<std::string> MemoryIntake::put(std::string_view folder, std::string_view name,
                                      std::string_view bytes) {
  REEF_ASSERT(!sessions_.empty() && !sessions_.back().ended);
  REEF_ASSERT(is_plain_name(folder) && is_plain_name(name));
  auto& files = sessions_.back().files;
  auto path = fmt::format("{}/{}", folder, name);
  for (int n = 2; files.contains(path) && files[path] != bytes; ++n)
    path = fmt::format("{}/{}-{}", folder, n, name);
  files[path] = bytes;
  return path;
}

void MemoryIntake::learn(json::object meta) {
  REEF_ASSERT(!sessions_.empty() && !sessions_.back().ended);
  for (auto& [name, value] : meta) sessions_.back().meta[name] = std::move(value);
}

Status MemoryIntake::end() {
  REEF_ASSERT(!sessions_.empty() && !sessions_.back().ended);
  sessions_.back().ended = true;
  return Ok{};
}

Status MemoryIntake::define(exchange::Definition definition) {
  definitions_.push_back(std::move(definition));
  return Ok{};
}

void MemoryIntake::problem(exchange::Problem problem) {
  REEF_ASSERT(!problem.path.empty() && !problem.why.empty());
  problems_.push_back(std::move(problem));
}

std::string MemoryIntake::Session::bytes() const {
  session::Header header;
  header.id = head.id;
  header.time = head.created;
  header.cwd = head.cwd;
  auto out = session::header_line(header);
  const session::EntryId about{"about this session"};
  out += session::entry_line(
      session::make_entry(session::draft_meta(meta), about, std::nullopt, head.created));
  for (const auto& entry : entries) {
    if (entry.parent) {
      out += session::entry_line(entry);
    } else {
      auto rooted = entry;
      rooted.body["parentId"] = about.text;
      out += session::entry_line(rooted);
    }
  }
  return out;
}

session::Transcript MemoryIntake::Session::transcript() const {
  return session::Transcript(session::read_transcript(bytes()));
}

session::Row MemoryIntake::Session::row() const {
  auto id = session::SessionId::parse(head.id);
  return session::make_row(id ? *id : *session::SessionId::parse("session"), bytes());
}

std::vector<std::string> MemoryIntake::Session::said() const {
  std::vector<std::string> out;
  for (const auto& entry : entries) {
    if (entry.type == "compaction")
      out.push_back(
          fmt::format("compaction: {}", json::find_string(entry.body, "summary").value_or("")));
    const auto message = session::message_of(entry);
    if (!message) continue;
    const auto text = session::text_of(*message);
    if (const auto* result = std::get_if<session::ToolResultMessage>(&*message)) {
      out.push_back(fmt::format("{} {}: {}", result->is_error ? "failure" : "result",
                                result->tool_name, text));
      continue;
    }
    if (!text.empty()) out.push_back(fmt::format("{}: {}", session::role_of(*message), text));
    const auto* reply = std::get_if<session::AssistantMessage>(&*message);
    if (!reply) continue;
    if (!reply->error_message.empty()) out.push_back("error: " + reply->error_message);
    for (const auto& block : reply->content)
      if (const auto* call = std::get_if<session::ToolCallBlock>(&block))
        out.push_back(fmt::format("call {} {}", call->name, json::write(call->arguments)));
  }
  return out;
}

Status MemoryOutlet::begin(std::string path) {
  REEF_ASSERT(!open_);
  REEF_ASSERT(!path.empty() && !path.starts_with('/') && path.find("..") == std::string::npos);
  REEF_ASSERT(!files_.contains(path));
  open_ = &files_[std::move(path)];
  return Ok{};
}

Status MemoryOutlet::write(std::string_view bytes) {
  REEF_ASSERT(open_);
  *open_ += bytes;
  return Ok{};
}

Status MemoryOutlet::end() {
  REEF_ASSERT(open_);
  open_ = nullptr;
  return Ok{};
}

}  // namespace reef::test
