#include "recall/peek.h"

#include <algorithm>

#include "base/json_scanner.h"
#include "base/utf8.h"

namespace reef::recall {
namespace {

constexpr std::size_t kUsualBytes = 4096;

// One line being read.
struct PeekReader {
  json::Scanner in;
  std::size_t bytes_max;  // the most text that is taken
  Peek& found;
  bool text_only;
  std::string_view type{}, role{};
  bool calls = false;  // the message calls a tool
  bool high = false;   // some of the text is not ASCII
  bool cut = false;    // there is more text
  bool enough = false;

  // Appends a text, on a new line unless it is the first.
  bool text() {
    // When bytes may follow the line its length is unknown.
    if (found.text.empty())
      found.text.reserve(std::min({bytes_max, in.left(), text_only ? kUsualBytes : SIZE_MAX}));
    const auto before = found.text.size();
    if (before > 0) found.text += '\n';
    const auto from = found.text.size();
    const bool read = in.string(found.text, bytes_max, high);
    if (found.text.size() == from) found.text.resize(before);
    cut = read && found.text.size() == bytes_max;
    enough = cut;
    return read && !cut;
  }
  bool block() {
    std::string_view kind;
    return in.members([&](std::string_view name) {
      if (name == "text" && in.next_is('"')) return text();
      if (name != "type") return in.skip();
      if (!in.plain_string(kind)) return false;
      calls = calls || kind == "toolCall";
      return true;
    });
  }
  bool message() {
    return in.members([&](std::string_view name) {
      if (name == "role") return in.plain_string(role);
      if (name == "toolName") return in.string(found.tool, SIZE_MAX, high);
      if (name != "content") return in.skip();
      if (in.next_is('"')) return text();
      if (!in.next_is('[')) return in.skip();
      if (!in.elements([&] { return in.next_is('{') ? block() : in.skip(); })) return false;
      enough = text_only && !role.empty() && (role != "toolResult" || !found.tool.empty());
      return !enough;
    });
  }
  // Reads the text of a line with the usual fields in the usual order, as Reef and pi write it.
  // Returns false for any other or an incomplete line; some of the text may have been taken.
  bool usual_text() {
    if (!in.take_all(R"({"type":"message","id":)") || !in.string(found.entry, SIZE_MAX, high) ||
        !in.take_all(R"(,"parentId":)") || !in.skip() || !in.take_all(R"(,"timestamp":)") ||
        !in.skip() || !in.take_all(R"(,"message":{"role":)") || !in.plain_string(role))
      return false;
    if (role == "toolResult" &&
        (!in.take_all(R"(,"toolCallId":)") || !in.skip() || !in.take_all(R"(,"toolName":)") ||
         !in.next_is('"') || !in.string(found.tool, SIZE_MAX, high)))
      return false;
    if (!in.take_all(R"(,"content":[{"type":"text","text":)") || !in.next_is('"')) return false;
    type = "message";
    if (!text()) return cut;
    return in.take_all("}]");
  }
  bool line() {
    return in.members([&](std::string_view name) {
      if (name == "type") return in.plain_string(type);
      if (name == "id") return in.string(found.entry, SIZE_MAX, high);
      if (name == "timestamp" && in.next_is('"')) return in.string(found.time, SIZE_MAX, high);
      if (name == "hidden") return in.truth(found.hidden);
      if (name == "agent" && in.next_is('"')) return in.string(found.agent, SIZE_MAX, high);
      return name == "message" && in.next_is('{') ? message() : in.skip();
    });
  }
};

void clear(Peek& into) {
  into.entry.clear();
  into.time.clear();
  into.tool.clear();
  into.agent.clear();
  into.text.clear();
  into.role = Role::user;
  into.hidden = false;
}

bool peek(std::string_view line, std::size_t bytes_max, Peek& into, bool text_only) {
  const PeekReader beginning{json::Scanner(line), std::min(bytes_max, line.size()) + 1, into,
                             text_only};
  auto usual = beginning, general = beginning;
  clear(into);
  const bool is_usual = text_only && usual.usual_text();
  if (!is_usual) {
    clear(into);
    if (!general.line() && !general.enough) return false;
  }
  const auto& reading = is_usual ? usual : general;
  const bool plain = reading.role == "user" || reading.role == "assistant" ||
                     (reading.role == "toolResult" && !into.tool.empty());
  if (reading.role == "assistant") into.role = Role::assistant;
  if (reading.role == "toolResult") into.role = Role::tool;
  if (reading.type != "message" || !plain || into.entry.empty() || into.text.empty() ||
      reading.calls)
    return false;
  if (!reading.high) return true;
  // The text may be cut inside its last character.
  const auto whole =
      reading.cut ? utf8::prefix(into.text, into.text.size() - 1) : std::string_view(into.text);
  return utf8::valid(whole) && utf8::valid(into.entry) && utf8::valid(into.tool) &&
         utf8::valid(into.agent) && utf8::valid(into.time);
}

}  // namespace

bool peek(std::string_view line, std::size_t bytes_max, Peek& into) {
  return peek(line, bytes_max, into, false);
}

bool peek_text(std::string_view bytes, std::size_t bytes_max, Peek& into) {
  return peek(bytes, bytes_max, into, true);
}

}  // namespace reef::recall
