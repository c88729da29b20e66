// Any bytes from a server, cut anywhere: the lines must equal those of a plain reading of the
// whole, messages must be read or refused, and the tools and results read must be bounded and
// valid.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/utf8.h"
#include "mcp/content.h"
#include "rpc/lines.h"
#include "rpc/received.h"

namespace {

constexpr std::size_t kLineBytesMax = 256;
constexpr std::size_t kBatchMax = 5;

std::vector<std::string> read_plainly(std::string_view bytes) {
  std::vector<std::string> out;
  for (std::size_t at = 0;;) {
    const auto end = bytes.find('\n', at);
    if (end == std::string_view::npos) return out;
    auto line = bytes.substr(at, end - at);
    at = end + 1;
    if (line.size() > kLineBytesMax) continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) out.emplace_back(line);
  }
}

void look_at(const reef::json::value& value) {
  using namespace reef::mcp;
  if (const auto tool = tool_from(value)) {
    REEF_ASSERT(!tool->name.empty());
    for (const auto& [name, header] : mirrored(*tool, tool->schema))
      for (const char c : header) REEF_ASSERT(c >= 0x20 && c < 0x7f);
  }
  static_cast<void>(resource_from(value));
  static_cast<void>(prompt_from(value));
  if (const auto* fields = value.if_object()) {
    static_cast<void>(call_result_from(*fields));
    static_cast<void>(resource_text_from(*fields));
    static_cast<void>(prompt_text_from(*fields));
  }
}

// A batch is bounded, and every item is a message or says why it is none.
void look_at(const reef::rpc::Received& received) {
  REEF_ASSERT(received.batch || received.items.size() == 1);
  REEF_ASSERT(!received.items.empty() && received.items.size() <= kBatchMax);
  for (const auto& item : received.items) {
    const auto& id = item.message.id;
    REEF_ASSERT(id.is_null() || reef::rpc::is_id(id));
    if (!item.refusal) continue;
    const auto answer = reef::json::write(reef::rpc::make_error(id, *item.refusal));
    const auto read = reef::rpc::message_from(answer);
    REEF_ASSERT(read && read->error && read->error->code == item.refusal->code);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = 1 + input[0] % 64U;
  const std::string_view bytes(reinterpret_cast<const char*>(input) + 1, size - 1);
  reef::rpc::Lines lines(kLineBytesMax);
  std::vector<std::string> read;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    lines.feed(bytes.substr(at, step));
    while (auto line = lines.next()) read.push_back(*std::move(line));
  }
  REEF_ASSERT(read == read_plainly(bytes));
  for (const auto& line : read) {
    look_at(reef::rpc::take_apart(line, kBatchMax));
    const auto message = reef::rpc::message_from(line);
    if (!message) continue;
    using Kind = reef::rpc::Message::Kind;
    REEF_ASSERT((message->kind == Kind::answer) == message->method.empty());
    if (message->kind == Kind::request) REEF_ASSERT(!message->id.is_null());
    look_at(message->params);
    look_at(message->result);
  }
  return 0;
}
