#include "model/scripted/scripted.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/notify.h"
#include "base/utf8.h"
#include "model/tokens.h"

namespace reef::model {
namespace {

constexpr std::int64_t kRepeatMax = 10'000'000;
// Pieces sent before other tasks get the loop.
constexpr int kPiecesPerTurn = 16;

// Returns pieces that each end with their space.
std::vector<std::string> cut_at_spaces(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    auto end = text.find(' ');
    end = end == std::string_view::npos ? text.size() : end + 1;
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

std::vector<std::string> cut_into(std::string_view text, std::size_t count) {
  std::vector<std::string> pieces;
  const auto size = std::max<std::size_t>(1, (text.size() + count - 1) / count);
  while (!text.empty()) {
    auto piece = utf8::prefix(text, size);
    if (piece.empty()) piece = utf8::prefix_chars(text, 1);
    pieces.emplace_back(piece);
    text.remove_prefix(piece.size());
  }
  return pieces;
}

Result<ScriptedReply> reply_from(const json::object& in) {
  ScriptedReply reply;
  const auto text = json::find_string(in, "text").value_or("");
  const auto chunks = json::find_int(in, "chunks").value_or(0);
  const auto once =
      chunks > 0 ? cut_into(text, static_cast<std::size_t>(chunks)) : cut_at_spaces(text);
  const auto repeat = json::find_int(in, "repeat").value_or(1);
  if (repeat < 1 || repeat > kRepeatMax)
    return Error(Errc::invalid, fmt::format("repeat must be 1 to {}", kRepeatMax));
  for (std::int64_t i = 0; i < repeat; ++i)
    reply.chunks.insert(reply.chunks.end(), once.begin(), once.end());
  reply.delay = std::chrono::milliseconds(json::find_int(in, "delay_ms").value_or(0));
  reply.hang = json::find_bool(in, "hang").value_or(false);
  if (const auto* calls = json::find_array(in, "calls"))
    for (const auto& item : *calls) {
      const auto* call = item.if_object();
      const auto name = call ? json::find_string(*call, "name") : std::nullopt;
      if (!name) return Error(Errc::invalid, "a call must be an object with a 'name'");
      const auto* arguments = json::find_object(*call, "arguments");
      reply.calls.push_back(
          session::ToolCallBlock{{}, std::string(*name), arguments ? *arguments : json::object()});
    }
  if (const auto fail = json::find_string(in, "fail")) {
    const auto kind = failure_kind_from(*fail);
    if (!kind) return Error(Errc::invalid, fmt::format("unknown failure '{}'", *fail));
    Failure failure;
    failure.kind = *kind;
    failure.message = std::string(json::find_string(in, "message").value_or("scripted failure"));
    failure.http_status = static_cast<int>(json::find_int(in, "http_status").value_or(0));
    reply.failure = std::move(failure);
  }
  return reply;
}

}  // namespace

Result<Script> parse_script(std::string_view text) {
  REEF_TRY(const auto root, json::parse(text));
  const auto* object = root.if_object();
  const auto* replies = object ? json::find_array(*object, "replies") : nullptr;
  if (!replies || replies->empty())
    return Error(Errc::invalid, "a script is an object with a non-empty array 'replies'");
  Script script;
  script.window = json::find_int(*object, "window").value_or(0);
  for (std::size_t i = 0; i < replies->size(); ++i) {
    const auto* item = (*replies)[i].if_object();
    if (!item) return Error(Errc::invalid, fmt::format("replies[{}] is not an object", i));
    auto reply = reply_from(*item);
    if (!reply) return std::move(reply).error().with(fmt::format("replies[{}]", i));
    script.replies.push_back(*std::move(reply));
  }
  return script;
}

namespace {

bool asks_for_a_reply(const session::MessagePtr& message) {
  if (std::holds_alternative<session::UserMessage>(*message)) return true;
  const auto* reply = std::get_if<session::AssistantMessage>(&*message);
  return reply && std::any_of(reply->content.begin(), reply->content.end(), [](const auto& block) {
           return std::holds_alternative<session::ToolCallBlock>(block);
         });
}

}  // namespace

Task<Outcome> ScriptedProvider::stream(const Request& request, const DeltaSink& sink) {
  const auto turns =
      std::count_if(request.messages.begin(), request.messages.end(), asks_for_a_reply);
  const auto index = static_cast<std::size_t>(std::max<std::ptrdiff_t>(turns, 1) - 1);
  const auto& reply = script_.replies[index % script_.replies.size()];

  if (const auto tokens = estimate_tokens(request); script_.window > 0 && tokens > script_.window) {
    Failure failure;
    failure.kind = Failure::Kind::context_overflow;
    failure.message =
        fmt::format("{} tokens are more than the window of {}", tokens, script_.window);
    co_return failure;
  }
  std::string text;
  int pieces = 0;
  for (const auto& chunk : reply.chunks) {
    if (reply.delay.count() > 0) {
      co_await sleep_for(reply.delay);
    } else if (++pieces % kPiecesPerTurn == 0) {
      co_await yield_to_loop();
    }
    text += chunk;
    sink(Delta{Delta::Kind::text, chunk});
  }
  while (reply.hang) co_await sleep_for(std::chrono::hours(1));
  if (reply.failure) co_return *reply.failure;

  Reply out;
  out.message.usage.input = estimate_tokens(request);
  out.message.usage.output = estimate_tokens(text);
  if (!text.empty() || reply.calls.empty())
    out.message.content.push_back(session::TextBlock{std::move(text)});
  for (auto call : reply.calls) {
    call.id = fmt::format("call_{}_{}", turns, out.message.content.size());
    sink(Delta{Delta::Kind::tool_call, call.name});
    out.message.stop_reason = session::StopReason::tool_use;
    out.message.content.push_back(std::move(call));
  }
  co_return out;
}

}  // namespace reef::model
