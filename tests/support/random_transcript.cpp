#include "support/random_transcript.h"

#include <random>

#include <fmt/format.h>

#include "session/entry.h"

namespace reef::test {
namespace {

using session::Draft;

class Author {
 public:
  explicit Author(std::uint64_t seed) : random_(seed) {}

  std::string write();

 private:
  bool one_in(unsigned n) { return below(n) == 0; }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::string text(unsigned words_max = 12);
  std::string id() { return fmt::format("{:08x}", below(1ULL << 32U)); }
  json::value any(int depth = 0);
  json::object arguments();
  json::object block();
  json::array blocks(bool picture);
  json::object usage();
  void add(Draft draft);
  void message(json::object message);
  void user();
  void assistant();
  void result(const std::string& call, const std::string& tool);
  void other();
  void meta();

  std::mt19937_64 random_;
  std::string out_;
  std::vector<session::EntryId> ids_;
  std::int64_t now_ = 1'700'000'000'000;
};

std::string Author::text(unsigned words_max) {
  static constexpr std::string_view kPieces[] = {"hello",
                                                 "world",
                                                 "\n",
                                                 "\n\n",
                                                 "\"quoted\"",
                                                 "back\\slash",
                                                 "🦀",
                                                 "e\u0301",
                                                 "漢字",
                                                 "\t",
                                                 "{{SESSION_PATH}}",
                                                 "~/x",
                                                 "{}",
                                                 "[]",
                                                 "</p>",
                                                 "\u2028",
                                                 "\\u0041",
                                                 "{{{SESSION_PATH}}}",
                                                 ". ",
                                                 "\r\n",
                                                 "0",
                                                 "[ERROR] x",
                                                 " ",
                                                 "`code`",
                                                 "```\ncode\n```",
                                                 "data:image/png;base64,AAAA"};
  std::string out;
  for (auto words = below(words_max + 1); words > 0; --words) {
    out += kPieces[below(std::size(kPieces))];
    if (one_in(2)) out.push_back(' ');
  }
  if (one_in(40)) out.push_back('\0');
  if (one_in(60)) out += std::string(10'000, 'x');
  return out;
}

json::value Author::any(int depth) {
  switch (below(depth > 2 ? 5 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return one_in(2);
    case 2:
      return static_cast<std::int64_t>(below(1000)) - 500;
    case 3:
      return 0.1 * static_cast<double>(below(100)) + 0.05;
    case 4:
      return json::value(text());
    case 5: {
      json::array out;
      for (auto n = below(4); n > 0; --n) out.push_back(any(depth + 1));
      return out;
    }
    default: {
      json::object out;
      for (auto n = below(4); n > 0; --n) out[fmt::format("k{}", below(9))] = any(depth + 1);
      return out;
    }
  }
}

json::object Author::arguments() {
  json::object out;
  for (auto n = below(4); n > 0; --n) out[one_in(3) ? text(2) : fmt::format("a{}", n)] = any();
  return out;
}

json::object Author::block() {
  json::object out{{"type", "text"}, {"text", text()}};
  if (one_in(20)) out["textSignature"] = text(2);
  return out;
}

json::array Author::blocks(bool picture) {
  json::array out;
  if (!one_in(12)) out.push_back(block());
  while (one_in(6)) out.push_back(block());
  if (picture && one_in(8))
    out.push_back(
        json::object{{"type", "image"}, {"data", "iVBORw0KGgo="}, {"mimeType", "image/png"}});
  if (one_in(40)) out.push_back(json::object{{"type", "hologram"}, {"x", any()}});
  return out;
}

json::object Author::usage() {
  session::AssistantMessage message;
  message.usage.input = static_cast<std::int64_t>(below(10'000));
  message.usage.output = static_cast<std::int64_t>(below(1000));
  message.usage.cache_read = static_cast<std::int64_t>(below(100));
  message.usage.cost.total = 0.001 * static_cast<double>(below(1000));
  return session::to_json(message).at("usage").get_object();
}

void Author::add(Draft draft) {
  now_ += static_cast<std::int64_t>(below(100'000));
  const auto time = TimePoint(std::chrono::milliseconds(now_));
  session::EntryId entry_id{id() + fmt::format("{:04x}", ids_.size())};
  std::optional<session::EntryId> parent;
  // Now and then the conversation forks from an earlier entry.
  if (!ids_.empty()) parent = one_in(25) ? ids_[below(ids_.size())] : ids_.back();
  if (one_in(30)) draft.fields["unknown"] = any();
  out_ += session::entry_line(session::make_entry(std::move(draft), entry_id, parent, time));
  ids_.push_back(std::move(entry_id));
}

void Author::message(json::object message) {
  if (one_in(30)) message["extra"] = any();
  // Mostly this is the time of the message's entry, which comes next.
  if (one_in(2)) message["timestamp"] = now_ + static_cast<std::int64_t>(below(1000));
  add(Draft{"message", json::object{{"message", std::move(message)}}});
}

void Author::user() {
  json::object out{{"role", "user"}};
  if (one_in(10)) {
    out["content"] = text();
  } else {
    out["content"] = blocks(true);
  }
  message(std::move(out));
}

void Author::result(const std::string& call, const std::string& tool) {
  json::object out{{"role", "toolResult"},
                   {"toolCallId", call},
                   {"toolName", one_in(20) ? text(2) : tool},
                   {"content", blocks(true)},
                   {"isError", one_in(4)}};
  if (one_in(6)) out["details"] = any();
  message(std::move(out));
}

void Author::assistant() {
  json::array content;
  if (one_in(3)) {
    json::object thought{{"type", "thinking"}, {"thinking", text()}};
    if (one_in(2)) thought["thinkingSignature"] = "c2ln";
    content.push_back(std::move(thought));
  }
  if (!one_in(4)) content.push_back(block());
  std::vector<std::pair<std::string, std::string>> calls;
  if (one_in(2)) {
    for (auto n = 1 + below(3); n > 0; --n) {
      calls.emplace_back(one_in(30) ? "same" : "call_" + id(), one_in(2) ? "bash" : "read");
      content.push_back(json::object{{"type", "toolCall"},
                                     {"id", calls.back().first},
                                     {"name", calls.back().second},
                                     {"arguments", arguments()}});
    }
    if (one_in(10)) content.push_back(block());
  }
  json::object out{{"role", "assistant"},
                   {"content", std::move(content)},
                   {"api", "x"},
                   {"provider", "p"},
                   {"model", text(1)},
                   {"usage", usage()},
                   {"stopReason", calls.empty() ? "stop" : "toolUse"}};
  if (one_in(15)) {
    out["stopReason"] = one_in(2) ? "error" : "aborted";
    out["errorMessage"] = text(3);
  }
  message(std::move(out));
  std::shuffle(calls.begin(), calls.end(), random_);
  if (one_in(3)) std::sort(calls.begin(), calls.end());
  for (const auto& [call, tool] : calls) {
    if (one_in(12)) continue;
    if (one_in(12)) other();
    if (one_in(20)) user();
    result(call, tool);
  }
}

void Author::other() {
  switch (below(12)) {
    case 0:
      return add(Draft{"model_change", json::object{{"provider", "p"}, {"modelId", text(1)}}});
    case 1:
      return add(Draft{"thinking_level_change", json::object{{"thinkingLevel", "high"}}});
    case 2:
      return add(Draft{"custom", json::object{{"customType", "ext.thing"}, {"data", any()}}});
    case 3:
      return add(
          Draft{"custom_message",
                json::object{{"customType", "ext.note"}, {"content", text()}, {"display", true}}});
    case 4:
      return add(Draft{"branch_summary", json::object{{"summary", text()}, {"fromId", "root"}}});
    case 5:
      return add(Draft{"compaction",
                       json::object{{"summary", text()},
                                    {"firstKeptEntryId", ids_.empty() ? "none" : ids_.front().text},
                                    {"tokensBefore", 1000}}});
    case 6:
      if (ids_.empty()) return;
      return add(Draft{
          "label", json::object{{"targetId", ids_[below(ids_.size())].text}, {"label", text(2)}}});
    case 7:
      return message(json::object{
          {"role", "bashExecution"}, {"command", text()}, {"output", text()}, {"exitCode", 1}});
    case 8:
      return message(json::object{{"role", "system"}, {"content", text()}});
    case 9:
      return message(
          json::object{{"role", "custom"}, {"customType", "c"}, {"content", blocks(false)}});
    case 10:
      return add(Draft{"future", json::object{{"x", any()}}});
    default:
      return meta();
  }
}

void Author::meta() {
  json::object patch;
  if (one_in(2)) {
    json::array labels{"code"};
    if (one_in(2)) labels.push_back("priority::2");
    patch["labels"] = std::move(labels);
  }
  if (one_in(3)) patch["sessionStatus"] = one_in(2) ? "done" : "my-status";
  if (one_in(4)) patch["isFlagged"] = one_in(2);
  if (one_in(6)) patch["isArchived"] = true;
  if (one_in(6)) patch["permissionMode"] = "allow-all";
  if (one_in(6)) patch["thinkingLevel"] = one_in(2) ? "minimal" : "xhigh";
  add(session::draft_meta(std::move(patch)));
}

std::string Author::write() {
  session::Header header;
  header.id = fmt::format("session-{}", id());
  header.time = TimePoint(std::chrono::milliseconds(now_));
  header.cwd = "/home/someone/work";
  out_ = session::header_line(header);
  if (!one_in(10))
    add(session::draft_meta(json::object{{"agent", one_in(2) ? "crab" : "Écrevisse"},
                                         {"sender", "alice"},
                                         {"key", "agent:crab:alice"},
                                         {"source", "native"}}));
  if (one_in(2))
    add(Draft{"session_info", json::object{{"name", one_in(2) ? "A title" : "Títle 🦀 \"x\""}}});
  for (auto turns = below(12); turns > 0; --turns) {
    if (one_in(5)) other();
    if (!one_in(8)) user();
    if (!one_in(8)) assistant();
    if (one_in(25)) result("nobody", "asked");
  }
  return out_;
}

}  // namespace

std::string random_transcript(std::uint64_t seed) {
  return Author(seed).write();
}

}  // namespace reef::test
