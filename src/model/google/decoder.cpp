#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "http/sse.h"
#include "model/google/schema.h"
#include "model/google/wire.h"
#include "model/reply_builder.h"

namespace reef::model::google {
namespace {

using json::find_array;
using json::find_bool;
using json::find_int;
using json::find_object;
using json::find_string;

constexpr std::string_view kBlocked[] = {
    "SAFETY", "RECITATION", "BLOCKLIST",    "PROHIBITED_CONTENT",
    "SPII",   "LANGUAGE",   "IMAGE_SAFETY", "OTHER"};
// The model made an error; another try may succeed.
constexpr std::string_view kStumbled[] = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
                                          "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

class GoogleDecoder final : public Decoder {
 public:
  explicit GoogleDecoder(const Request& request)
      : tools_(request.tools), builder_(ToolNames(request.tools, rules().name)) {}

  std::optional<Failure> take(std::string_view bytes, const DeltaSink& sink) override {
    sink_ = &sink;
    parser_.feed(bytes);
    while (true) {
      auto event = parser_.next();
      if (!event) return garbled(event.error().what);
      if (!*event) return std::nullopt;
      auto parsed = json::parse_lenient((*event)->data);
      if (!parsed || !parsed->is_object()) return garbled("a chunk is no JSON object");
      if (auto failure = take_chunk(parsed->as_object(), sink)) return failure;
      if (builder_.too_large()) return grown_too_large();
    }
  }

  // The reply ends only with the body.
  bool done() const override { return false; }

  Outcome finish() override {
    // The blank line after the last chunk may be missing; a chunk that was cut is not valid JSON.
    if (const auto event = parser_.rest(); event && sink_) {
      const auto parsed = json::parse_lenient(event->data);
      if (parsed && parsed->is_object())
        if (auto failure = take_chunk(parsed->as_object(), *sink_)) return *std::move(failure);
    }
    if (reason_.empty()) return cut_short();
    Failure failure;
    failure.message = fmt::format("the reply was ended by the service ({})", reason_);
    if (!explanation_.empty()) failure.message += ": " + explanation_;
    if (is_one_of(reason_, kBlocked)) {
      failure.kind = Failure::Kind::invalid_request;
      return failure;
    }
    if (is_one_of(reason_, kStumbled)) return failure;
    auto reply = builder_.finish(reason_ == "MAX_TOKENS" ? session::StopReason::length
                                                         : session::StopReason::stop);
    for (auto& block : reply.message.content)
      if (auto* call = std::get_if<session::ToolCallBlock>(&block))
        for (const auto& tool : tools_)
          if (tool.name == call->name) {
            restore_arguments(call->arguments, tool.parameters);
            break;
          }
    return reply;
  }

 private:
  std::optional<Failure> take_chunk(const json::object& chunk, const DeltaSink& sink) {
    if (const auto* error = find_object(chunk, "error"))
      return failure_of(*error, static_cast<int>(find_int(*error, "code").value_or(0)));
    if (const auto model = find_string(chunk, "modelVersion")) builder_.model = *model;
    if (const auto* usage = find_object(chunk, "usageMetadata")) take_usage(*usage);
    const auto* candidates = find_array(chunk, "candidates");
    const auto* candidate =
        candidates && !candidates->empty() ? candidates->front().if_object() : nullptr;
    if (!candidate) {
      const auto* feedback = find_object(chunk, "promptFeedback");
      const auto blocked = feedback ? find_string(*feedback, "blockReason") : std::nullopt;
      if (!blocked) return std::nullopt;
      Failure failure;
      failure.kind = Failure::Kind::invalid_request;
      failure.message =
          fmt::format("the prompt was blocked by the service ({})", utf8::excerpt(*blocked));
      return failure;
    }
    if (const auto* content = find_object(*candidate, "content"))
      if (const auto* parts = find_array(*content, "parts"))
        for (const auto& part : *parts)
          if (const auto* object = part.if_object()) take_part(*object, sink);
    if (const auto reason = find_string(*candidate, "finishReason");
        reason && !reason->empty() && *reason != "FINISH_REASON_UNSPECIFIED") {
      reason_ = utf8::excerpt(*reason);
      explanation_ = utf8::excerpt(find_string(*candidate, "finishMessage").value_or(""), 300);
    }
    return std::nullopt;
  }

  void take_part(const json::object& part, const DeltaSink& sink) {
    const auto signature = find_string(part, "thoughtSignature").value_or("");
    if (const auto* call = find_object(part, "functionCall")) {
      const auto number = next_number(Last::call);
      builder_.add_call(number, find_string(*call, "id").value_or(""),
                        find_string(*call, "name").value_or(""), sink);
      if (const auto* arguments = find_object(*call, "args"))
        builder_.set_arguments(number, *arguments);
      if (!signature.empty()) builder_.set_call_signature(number, signature);
      return;
    }
    const auto text = find_string(part, "text");
    if (!text || (text->empty() && signature.empty())) return;
    const bool thought = find_bool(part, "thought").value_or(false);
    const auto number = next_number(thought ? Last::thinking : Last::text);
    if (thought) {
      builder_.add_thinking(number, *text, sink);
      if (!signature.empty()) builder_.add_thinking_signature(number, signature);
    } else {
      builder_.add_text(number, *text, sink);
      if (!signature.empty()) builder_.set_text_signature(number, signature);
    }
    // A signature covers the text before it; later text has its own.
    if (!signature.empty()) last_ = Last::nothing;
  }

  enum class Last : std::uint8_t { nothing, text, thinking, call };

  // Parts have no numbers: adjacent pieces of one kind form a block, calls are always whole.
  std::int64_t next_number(Last kind) {
    if (kind == Last::call || kind != last_) ++number_;
    last_ = kind;
    return number_;
  }

  // Each chunk has the total so far, so the last one counts. Cached tokens are part of the
  // prompt's.
  void take_usage(const json::object& in) {
    const auto count = [&](std::string_view key) {
      return std::max<std::int64_t>(0, find_int(in, key).value_or(0));
    };
    auto& usage = builder_.usage;
    usage.cache_read = count("cachedContentTokenCount");
    usage.input = std::max<std::int64_t>(0, count("promptTokenCount") - usage.cache_read) +
                  count("toolUsePromptTokenCount");
    usage.reasoning = count("thoughtsTokenCount");
    usage.output = count("candidatesTokenCount") + usage.reasoning;
  }

  ToolList tools_;
  http::sse::Parser parser_;
  ReplyBuilder builder_;
  const DeltaSink* sink_ = nullptr;
  Last last_ = Last::nothing;
  std::int64_t number_ = 0;
  std::string reason_;
  std::string explanation_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Request& request) {
  return std::make_unique<GoogleDecoder>(request);
}

}  // namespace reef::model::google
