#include "model/openai/event_decoder.h"

#include "base/utf8.h"
#include "model/openai/common.h"
#include "model/openai/errors.h"

namespace reef::model::openai {
namespace {

constexpr std::size_t kAnswerBytesMax = 64U << 20;
constexpr std::string_view kEndMark = "[DONE]";

}  // namespace

std::optional<Failure> EventDecoder::take(std::string_view bytes, const DeltaSink& sink) {
  if (done_) return std::nullopt;
  if (form_ == Form::unknown) {
    const auto first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) {
      parser_.feed(bytes);
      return std::nullopt;
    }
    form_ = bytes[first] == '{' ? Form::answer : Form::events;
    if (form_ == Form::answer) bytes.remove_prefix(first);
  }
  if (form_ == Form::answer) {
    if (answer_.size() + bytes.size() > kAnswerBytesMax) return grown_too_large();
    const auto end = end_in(bytes);
    answer_ += bytes.substr(0, end);
    return end == std::string_view::npos ? std::nullopt : take_whole(sink);
  }
  parser_.feed(bytes);
  while (!done_) {
    const auto event = parser_.next();
    if (!event) return garbled(event.error().what);
    if (!*event) break;
    if (auto failure = take_data((*event)->data, sink)) return failure;
    if (builder_.too_large()) return grown_too_large();
  }
  return std::nullopt;
}

std::optional<Failure> EventDecoder::take_data(std::string_view data, const DeltaSink& sink) {
  if (data.find_first_not_of(" \t\r\n") == std::string_view::npos) return std::nullopt;
  if (data.starts_with(kEndMark)) {
    marked_ = done_ = true;
    return std::nullopt;
  }
  const auto parsed = json::parse_lenient(data);
  if (!parsed || !parsed->is_object())
    return garbled("an event is no JSON object: " + utf8::excerpt(data));
  return take_event(parsed->get_object(), sink);
}

std::size_t EventDecoder::end_in(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (escaped_) {
      escaped_ = false;
    } else if (in_string_) {
      escaped_ = c == '\\';
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{') {
      ++depth_;
    } else if (c == '}' && --depth_ == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::optional<Failure> EventDecoder::take_whole(const DeltaSink& sink) {
  const auto parsed = json::parse_lenient(answer_);
  if (!parsed || !parsed->is_object())
    return garbled("the answer is no JSON object: " + utf8::excerpt(answer_));
  done_ = true;
  const auto& answer = parsed->get_object();
  const auto* error = answer.if_contains("error");
  if (error && !error->is_null()) return failure_from_stream(*error);
  return take_answer(answer, sink);
}

Outcome EventDecoder::finish() {
  const DeltaSink nobody = [](Delta) {};
  if (form_ == Form::events && !done_)
    if (const auto rest = parser_.rest())
      if (rest->data.starts_with(kEndMark) || json::parse(rest->data))
        if (auto failure = take_data(rest->data, nobody)) return std::move(*failure);
  if (!marked_ && !complete()) return cut_short();
  const auto usage_known = has_usage_;
  auto reply = builder_.finish(reason_);
  if (!usage_known) reply.message.usage = estimated_usage(request_, reply.message.content);
  return reply;
}

}  // namespace reef::model::openai
