#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "model/bedrock/bedrock.h"
#include "model/bedrock/event_stream.h"
#include "model/bedrock/wire.h"
#include "model/claude.h"
#include "model/reply_builder.h"

namespace reef::model::bedrock {
namespace {

using json::find_int;
using json::find_object;
using json::find_string;

class BedrockDecoder final : public Decoder {
 public:
  explicit BedrockDecoder(const Request& request)
      : builder_(ToolNames(request.tools, claude::rules(BedrockCodec::kApi, Thoughts::none).name)) {
    // The stream does not name the model that answers.
    builder_.model = request.model;
  }

  std::optional<Failure> take(std::string_view bytes, const DeltaSink& sink) override {
    parser_.feed(bytes);
    while (!done_) {
      auto frame = parser_.next();
      if (!frame) return garbled(frame.error().what);
      if (!*frame) return std::nullopt;
      if (auto failure = take_frame(**frame, sink)) return failure;
      if (builder_.too_large()) return grown_too_large();
    }
    return std::nullopt;
  }

  bool done() const override { return done_; }

  Outcome finish() override {
    if (!done_) return cut_short();
    Failure failure;
    failure.message = fmt::format("the reply was ended by the service ({})", reason_);
    if (reason_ == "guardrail_intervened" || reason_ == "content_filtered") {
      failure.kind = Failure::Kind::invalid_request;
      return failure;
    }
    // The model made an error; another try may succeed.
    if (reason_ == "malformed_model_output" || reason_ == "malformed_tool_use") return failure;
    const bool cut = reason_ == "max_tokens" || reason_ == "model_context_window_exceeded";
    return builder_.finish(cut ? session::StopReason::length : session::StopReason::stop);
  }

 private:
  std::optional<Failure> take_frame(const Frame& frame, const DeltaSink& sink) {
    const auto kind = frame.header(":message-type");
    if (kind == "error")
      return failure_of(frame.header(":error-code"), frame.header(":error-message"), 0);
    const auto parsed = json::parse_lenient(frame.payload);
    const auto* payload = parsed ? parsed->if_object() : nullptr;
    if (kind == "exception") {
      const auto message = payload ? find_string(*payload, "message").value_or("") : "";
      return failure_of(frame.header(":exception-type"), message, 0);
    }
    if (!payload) return garbled("the payload of a frame is no JSON object");
    const auto event = frame.header(":event-type");
    const auto index = find_int(*payload, "contentBlockIndex").value_or(0);
    if (event == "contentBlockDelta") {
      if (const auto* delta = find_object(*payload, "delta")) take_delta(index, *delta, sink);
    } else if (event == "contentBlockStart") {
      const auto* start = find_object(*payload, "start");
      if (const auto* call = start ? find_object(*start, "toolUse") : nullptr)
        builder_.add_call(index, find_string(*call, "toolUseId").value_or(""),
                          find_string(*call, "name").value_or(""), sink);
    } else if (event == "messageStop") {
      reason_ = utf8::excerpt(find_string(*payload, "stopReason").value_or(""));
      stopped_ = true;
    } else if (event == "metadata") {
      if (const auto* usage = find_object(*payload, "usage")) take_usage(*usage);
      // This event is the last of a reply.
      done_ = stopped_;
    }
    return std::nullopt;
  }

  void take_delta(std::int64_t index, const json::object& delta, const DeltaSink& sink) {
    if (const auto text = find_string(delta, "text")) builder_.add_text(index, *text, sink);
    if (const auto* call = find_object(delta, "toolUse"))
      builder_.add_arguments(index, find_string(*call, "input").value_or(""));
    if (const auto* thought = find_object(delta, "reasoningContent")) {
      if (const auto text = find_string(*thought, "text"))
        builder_.add_thinking(index, *text, sink);
      if (const auto signature = find_string(*thought, "signature"))
        builder_.add_thinking_signature(index, *signature);
      if (const auto sealed = find_string(*thought, "redactedContent"))
        builder_.set_redacted(index, *sealed);
    }
  }

  void take_usage(const json::object& in) {
    const auto count = [&](std::string_view key) {
      return std::max<std::int64_t>(0, find_int(in, key).value_or(0));
    };
    builder_.usage.input = count("inputTokens");
    builder_.usage.output = count("outputTokens");
    builder_.usage.cache_read = count("cacheReadInputTokens");
    builder_.usage.cache_write = count("cacheWriteInputTokens");
  }

  FrameParser parser_;
  ReplyBuilder builder_;
  std::string reason_;
  bool stopped_ = false;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Request& request) {
  return std::make_unique<BedrockDecoder>(request);
}

}  // namespace reef::model::bedrock
