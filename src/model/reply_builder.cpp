#include "model/reply_builder.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::model {
namespace {

constexpr std::size_t kMessageBytesMax = 1000;
// The assumed cost of a block beside its text.
constexpr std::size_t kBlockBytes = 256;

// Several APIs send no arguments at all for a call without parameters.
std::optional<json::object> arguments_from(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return json::object();
  auto parsed = json::parse_lenient(text);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return std::move(parsed->as_object());
}

}  // namespace

template <class T>
T& ReplyBuilder::at(std::map<std::int64_t, T>& blocks, Kind kind, std::int64_t number) {
  const auto [found, fresh] = blocks.try_emplace(number);
  if (fresh) {
    order_.emplace_back(kind, number);
    bytes_ += kBlockBytes;
  }
  return found->second;
}

void ReplyBuilder::add_text(std::int64_t number, std::string_view text, const DeltaSink& sink) {
  if (text.empty()) return;
  text_at(number).text += text;
  bytes_ += text.size();
  sink(Delta{Delta::Kind::text, std::string(text)});
}

void ReplyBuilder::add_thinking(std::int64_t number, std::string_view text, const DeltaSink& sink) {
  if (text.empty()) return;
  thinking_at(number).thinking += text;
  bytes_ += text.size();
  sink(Delta{Delta::Kind::thinking, std::string(text)});
}

void ReplyBuilder::add_thinking_signature(std::int64_t number, std::string_view signature) {
  thinking_at(number).signature += signature;
  bytes_ += signature.size();
}

void ReplyBuilder::set_redacted(std::int64_t number, std::string_view data) {
  auto& block = thinking_at(number);
  block.signature = data;
  block.redacted = true;
  bytes_ += data.size();
}

void ReplyBuilder::set_text_signature(std::int64_t number, std::string_view signature) {
  text_at(number).signature = signature;
  bytes_ += signature.size();
}

void ReplyBuilder::add_call(std::int64_t number, std::string_view id, std::string_view name,
                            const DeltaSink& sink) {
  auto& block = call_at(number).block;
  if (!id.empty()) block.id = id;
  bytes_ += id.size() + name.size();
  if (name.empty()) return;
  const bool known = !block.name.empty();
  block.name = names_.from_api(name);
  if (!known) sink(Delta{Delta::Kind::tool_call, block.name});
}

void ReplyBuilder::add_arguments(std::int64_t number, std::string_view json) {
  call_at(number).arguments += json;
  bytes_ += json.size();
}

void ReplyBuilder::set_arguments(std::int64_t number, json::object arguments) {
  call_at(number).block.arguments = std::move(arguments);
}

void ReplyBuilder::set_call_signature(std::int64_t number, std::string_view signature) {
  call_at(number).block.signature = signature;
  bytes_ += signature.size();
}

Reply ReplyBuilder::finish(session::StopReason reason) {
  Reply reply;
  auto& content = reply.message.content;
  std::size_t calls = 0;
  for (const auto& [kind, number] : order_) {
    if (kind == Kind::text) {
      auto& block = texts_.at(number);
      if (!block.text.empty() || !block.signature.empty()) content.push_back(std::move(block));
    } else if (kind == Kind::thinking) {
      auto& block = thoughts_.at(number);
      if (!block.thinking.empty() || !block.signature.empty()) content.push_back(std::move(block));
    } else {
      auto& [block, text] = calls_.at(number);
      if (block.name.empty()) continue;
      if (block.arguments.empty()) {
        auto arguments = arguments_from(text);
        if (!arguments && reason == session::StopReason::length) continue;
        // The call will be refused by the tool's schema, and the model reads why.
        block.arguments =
            arguments ? *std::move(arguments) : json::object{{"malformed_json", text}};
      }
      ++calls;
      if (block.id.empty()) block.id = fmt::format("call_{}", calls);
      content.push_back(std::move(block));
    }
  }
  if (reason == session::StopReason::stop || reason == session::StopReason::tool_use)
    reason = calls > 0 ? session::StopReason::tool_use : session::StopReason::stop;
  reply.message.stop_reason = reason;
  reply.message.usage = usage;
  reply.message.model = std::move(model);
  return reply;
}

Failure failure_of_status(int status, std::string_view body) {
  Failure failure;
  failure.http_status = status;
  const auto kind = [&] {
    switch (status) {
      case 401:
      case 403:
        return Failure::Kind::auth;
      case 408:
        return Failure::Kind::timeout;
      case 409:
        return Failure::Kind::server;
      case 413:
        return Failure::Kind::context_overflow;
      case 402:
      case 429:
        return Failure::Kind::rate_limit;
      case 503:
      case 529:
        return Failure::Kind::overloaded;
      default:
        return status >= 400 && status < 500 ? Failure::Kind::invalid_request
                                             : Failure::Kind::server;
    }
  };
  failure.kind = kind();
  failure.final = status == 402;  // a bill is not paid within a moment
  failure.message = utf8::excerpt(body, kMessageBytesMax);
  if (failure.message.find_first_not_of(' ') == std::string::npos)
    failure.message = fmt::format("the server answered with status {}", status);
  return failure;
}

Failure garbled(std::string_view what) {
  Failure failure;
  failure.kind = Failure::Kind::server;
  failure.message = fmt::format("the answer cannot be read: {}", what);
  return failure;
}

Failure cut_short() {
  Failure failure;
  failure.kind = Failure::Kind::network;
  failure.message = "the answer ended before the reply did";
  return failure;
}

Failure grown_too_large() {
  Failure failure;
  failure.kind = Failure::Kind::server;
  failure.message = "the reply is larger than any model's";
  return failure;
}

}  // namespace reef::model
