#include <algorithm>

#include "http/sse.h"
#include "model/anthropic/anthropic.h"
#include "model/anthropic/wire.h"
#include "model/claude.h"
#include "model/reply_builder.h"

namespace reef::model::anthropic {
namespace {

using json::find_int;
using json::find_object;
using json::find_string;

std::string_view text_at(const json::object& in, std::string_view key) {
  return find_string(in, key).value_or("");
}

class AnthropicDecoder final : public Decoder {
 public:
  explicit AnthropicDecoder(ToolNames names) : builder_(std::move(names)) {}

  std::optional<Failure> take(std::string_view bytes, const DeltaSink& sink) override {
    parser_.feed(bytes);
    while (!done_) {
      auto event = parser_.next();
      if (!event) return garbled(event.error().what);
      if (!*event) return std::nullopt;
      if (auto failure = take_event(**event, sink)) return failure;
      if (builder_.too_large()) return grown_too_large();
    }
    return std::nullopt;
  }

  bool done() const override { return done_; }

  Outcome finish() override {
    if (!done_) return cut_short();
    if (refused_) {
      Failure failure;
      failure.kind = Failure::Kind::invalid_request;
      failure.message = "the model refused to answer (stop reason 'refusal')";
      return failure;
    }
    return builder_.finish(reason_);
  }

 private:
  std::optional<Failure> take_event(const http::sse::Event& event, const DeltaSink& sink) {
    auto parsed = json::parse_lenient(event.data);
    if (!parsed || !parsed->is_object()) return garbled("an event of the stream is no JSON object");
    const auto& data = parsed->as_object();
    const auto type = find_string(data, "type").value_or(event.type);
    const auto index = find_int(data, "index").value_or(0);
    if (type == "content_block_delta") {
      if (const auto* delta = find_object(data, "delta")) take_delta(index, *delta, sink);
    } else if (type == "content_block_start") {
      if (const auto* block = find_object(data, "content_block")) take_start(index, *block, sink);
    } else if (type == "message_start") {
      if (const auto* message = find_object(data, "message")) {
        builder_.model = text_at(*message, "model");
        take_usage(*message);
      }
    } else if (type == "message_delta") {
      take_usage(data);
      if (const auto* delta = find_object(data, "delta"))
        take_reason(text_at(*delta, "stop_reason"));
    } else if (type == "message_stop") {
      done_ = true;
    } else if (type == "error") {
      const auto* error = find_object(data, "error");
      return failure_of(error ? *error : data, 0);
    }
    // Pings, ends of blocks and unknown events need no handling.
    return std::nullopt;
  }

  void take_start(std::int64_t index, const json::object& block, const DeltaSink& sink) {
    const auto type = text_at(block, "type");
    if (type == "text") {
      builder_.add_text(index, text_at(block, "text"), sink);
    } else if (type == "thinking") {
      builder_.add_thinking(index, text_at(block, "thinking"), sink);
      builder_.add_thinking_signature(index, text_at(block, "signature"));
    } else if (type == "redacted_thinking") {
      builder_.set_redacted(index, text_at(block, "data"));
    } else if (type == "tool_use") {
      builder_.add_call(index, text_at(block, "id"), text_at(block, "name"), sink);
      if (const auto* input = find_object(block, "input"); input && !input->empty())
        builder_.set_arguments(index, *input);
    }
  }

  void take_delta(std::int64_t index, const json::object& delta, const DeltaSink& sink) {
    const auto type = text_at(delta, "type");
    if (type == "text_delta") {
      builder_.add_text(index, text_at(delta, "text"), sink);
    } else if (type == "thinking_delta") {
      builder_.add_thinking(index, text_at(delta, "thinking"), sink);
    } else if (type == "signature_delta") {
      builder_.add_thinking_signature(index, text_at(delta, "signature"));
    } else if (type == "input_json_delta") {
      builder_.add_arguments(index, text_at(delta, "partial_json"));
    }
  }

  // Counts are cumulative, and an event may have only some of them.
  void take_usage(const json::object& in) {
    const auto* usage = find_object(in, "usage");
    if (!usage) return;
    const auto grow = [&](std::int64_t& count, const json::object& from, std::string_view key) {
      count = std::max(count, find_int(from, key).value_or(0));
    };
    grow(builder_.usage.input, *usage, "input_tokens");
    grow(builder_.usage.output, *usage, "output_tokens");
    grow(builder_.usage.cache_read, *usage, "cache_read_input_tokens");
    grow(builder_.usage.cache_write, *usage, "cache_creation_input_tokens");
    if (const auto* details = find_object(*usage, "output_tokens_details"))
      grow(builder_.usage.reasoning, *details, "thinking_tokens");
  }

  void take_reason(std::string_view reason) {
    if (reason == "max_tokens" || reason == "model_context_window_exceeded")
      reason_ = session::StopReason::length;
    if (reason == "refusal") refused_ = true;
  }

  http::sse::Parser parser_;
  ReplyBuilder builder_;
  session::StopReason reason_ = session::StopReason::stop;
  bool refused_ = false;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Request& request) {
  return std::make_unique<AnthropicDecoder>(
      ToolNames(request.tools, claude::rules(AnthropicCodec::kApi, Thoughts::none).name));
}

}  // namespace reef::model::anthropic
