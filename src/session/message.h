// What people, models and tools say: the content of `message` entries, and what providers are
// given. Plain values. The JSON form is pi's (docs/formats/transcript.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace reef::session {

// Signatures are the model's own proof of what it said: opaque, and given back with the block only
// to the API and model that made it.
struct TextBlock {
  std::string text;
  std::string signature = {};
};
struct ThinkingBlock {
  std::string thinking;
  std::string signature = {};
  bool redacted = false;  // the thought itself is sealed in the signature
};
struct ImageBlock {
  std::string data;  // base64
  std::string mime_type;
};
struct ToolCallBlock {
  std::string id;
  std::string name;
  json::object arguments;
  std::string signature = {};
};
// A block of a kind we do not know, kept as it was read.
struct OtherBlock {
  json::value raw;
};
using Block = std::variant<TextBlock, ThinkingBlock, ImageBlock, ToolCallBlock, OtherBlock>;

struct Cost {
  double input = 0, output = 0, cache_read = 0, cache_write = 0, total = 0;  // US dollars
};
struct Usage {
  std::int64_t input = 0, output = 0, cache_read = 0, cache_write = 0;
  std::int64_t reasoning = 0;  // part of output
  bool estimated = false;      // the provider did not count, or not all of it
  Cost cost;
  std::int64_t total() const { return input + output + cache_read + cache_write; }
};

enum class StopReason : std::uint8_t { stop, length, tool_use, error, aborted };
std::string_view name_of(StopReason reason);

// A hidden message is neither said by a person nor meant for one: a program's words, a silent
// reply. Models are given it, lists and searches leave it out. The mark is on the entry, not in the
// JSON.
struct UserMessage {
  std::vector<Block> content;
  TimePoint time;
  bool hidden = false;
};
struct AssistantMessage {
  std::vector<Block> content;
  std::string api, provider, model;
  Usage usage;
  StopReason stop_reason = StopReason::stop;
  std::string error_message;  // with stop_reason error
  TimePoint time;
  // A guest's name; empty: the conversation's own agent. It is on the entry, not in the JSON.
  std::string agent = {};
  bool hidden = false;
  // How many of the user's messages a silent reply answers; 0 for other replies. Replies and
  // tool calls between them and the reply are hidden with it. On the entry, too.
  int hides = 0;
};
struct ToolResultMessage {
  std::string tool_call_id, tool_name;
  std::vector<Block> content;
  bool is_error = false;
  TimePoint time;
  json::object details = {};  // for viewers, not for a model
  bool hidden = false;
};
// A command the user ran beside the conversation.
struct BashMessage {
  std::string command, output;
  std::optional<std::int64_t> exit_code;
  bool cancelled = false;
  bool truncated = false;
  std::string full_output_path;
  bool exclude_from_context = false;
  json::object raw;
};
// Text a program put in, shown to the model as the user's.
struct CustomMessage {
  std::string custom_type;
  std::vector<Block> content;
  json::object raw;
};
// Replaces messages that are no longer given: made from entries, never written as a message.
struct SummaryMessage {
  enum class Kind : std::uint8_t { compaction, branch };
  Kind kind = Kind::compaction;
  std::string summary;
  TimePoint time;
};
// A role we do not interpret; kept and shown, not sent to a model.
struct OtherMessage {
  std::string role;
  json::object raw;
};
using Message = std::variant<UserMessage, AssistantMessage, ToolResultMessage, BashMessage,
                             CustomMessage, SummaryMessage, OtherMessage>;
using MessagePtr = std::shared_ptr<const Message>;

std::string_view role_of(const Message& message);
bool is_hidden(const Message& message);
// The text blocks, joined by newlines.
std::string text_of(const Message& message);
std::string text_of(const std::vector<Block>& blocks);
// A message's `content`: a string, or an array of blocks.
std::vector<Block> content_from_json(const json::object& in);

Usage usage_from_json(const json::object& in);
json::object to_json(const Message& message);
// Never fails: a field that is missing or of a wrong type gets its default, an unknown role becomes
// OtherMessage.
Message message_from_json(const json::object& in);

}  // namespace reef::session
