#include "model/openai/responses_decoder.h"

#include "model/openai/common.h"
#include "model/openai/errors.h"

namespace reef::model::openai {
namespace {

// Returns the text of an item's parts that have one of these types.
std::string text_of_parts(const json::object& item, std::string_view list,
                          std::initializer_list<std::string_view> types, std::string_view between) {
  std::string out;
  const auto* parts = json::find_array(item, list);
  if (!parts) return out;
  for (const auto& part : *parts) {
    const auto* fields = part.if_object();
    if (!fields) continue;
    const auto type = json::find_string(*fields, "type").value_or("");
    if (std::find(types.begin(), types.end(), type) == types.end()) continue;
    auto text = json::find_string(*fields, "text");
    if (!text) text = json::find_string(*fields, "refusal");
    if (!text) continue;
    if (!out.empty()) out += between;
    out += *text;
  }
  return out;
}

}  // namespace

std::optional<Failure> ResponsesDecoder::take_event(const json::object& event,
                                                    const DeltaSink& sink) {
  const auto type = json::find_string(event, "type").value_or("");
  const auto number = json::find_int(event, "output_index").value_or(0);
  const auto delta = json::find_string(event, "delta").value_or("");
  const auto* item = json::find_object(event, "item");
  const auto* response = json::find_object(event, "response");

  if (type == "response.output_text.delta" || type == "response.refusal.delta") {
    items_[number].text_bytes += delta.size();
    builder_.add_text(number, delta, sink);
  } else if (type == "response.reasoning_summary_text.delta") {
    take_thought(number, event, "summary_index", sink);
  } else if (type == "response.reasoning_text.delta") {
    take_thought(number, event, "content_index", sink);
  } else if (type == "response.function_call_arguments.delta") {
    items_[number].arguments += delta;
  } else if (type == "response.function_call_arguments.done") {
    finish_arguments(number, json::find_string(event, "arguments").value_or(""));
  } else if (type == "response.output_item.added" && item) {
    open_item(number, *item, sink);
  } else if (type == "response.output_item.done" && item) {
    close_item(number, *item, sink);
  } else if (type == "response.completed" || type == "response.incomplete" ||
             type == "response.failed" || type == "response.done") {
    if (!response) return garbled("the last event lacks its response");
    return close(*response, sink);
  } else if (type == "error") {
    const auto* error = event.if_contains("error");
    // The event's `type` is not the error's.
    auto fields = event;
    fields.erase("type");
    return failure_from_stream(error && !error->is_null() ? *error : json::value(fields));
  } else if (const auto* error = event.if_contains("error");
             type.empty() && error && !error->is_null()) {
    return failure_from_stream(*error);
  } else if (response) {
    if (const auto model = json::find_string(*response, "model"); model && !model->empty())
      builder_.model = *model;
  }
  return std::nullopt;
}

std::optional<Failure> ResponsesDecoder::take_answer(const json::object& answer,
                                                     const DeltaSink& sink) {
  if (!json::find_array(answer, "output")) return garbled("an answer without output");
  return close(answer, sink);
}

void ResponsesDecoder::open_item(std::int64_t number, const json::object& item,
                                 const DeltaSink& sink) {
  if (json::find_string(item, "type") != "function_call") return;
  items_[number];
  auto id = json::find_string(item, "call_id").value_or("");
  if (id.empty()) id = json::find_string(item, "id").value_or("");
  const auto name = json::find_string(item, "name").value_or("");
  if (id.empty()) {
    builder_.add_call(number, ids_.next(items_.size()), name, sink);
  } else {
    builder_.add_call(number, id, name, sink);
  }
}

void ResponsesDecoder::finish_arguments(std::int64_t number, std::string_view arguments) {
  auto& item = items_[number];
  if (item.arguments_done) return;
  // The arguments are repeated whole; if that is missing, the deltas are used.
  if (arguments.empty()) arguments = item.arguments;
  if (arguments.empty()) return;
  item.arguments_done = true;
  builder_.add_arguments(number, arguments);
}

void ResponsesDecoder::take_thought(std::int64_t number, const json::object& event,
                                    std::string_view part, const DeltaSink& sink) {
  const auto delta = json::find_string(event, "delta").value_or("");
  if (delta.empty()) return;
  auto& item = items_[number];
  const auto index = json::find_int(event, part).value_or(0);
  const bool next_part = item.summary_part >= 0 && item.summary_part != index;
  item.summary_part = index;
  if (next_part) builder_.add_thinking(number, "\n\n", sink);
  item.thinking_bytes += delta.size();
  builder_.add_thinking(number, delta, sink);
}

void ResponsesDecoder::close_item(std::int64_t number, const json::object& item,
                                  const DeltaSink& sink) {
  const auto type = json::find_string(item, "type").value_or("");
  auto& known = items_[number];
  if (type == "message") {
    const auto text = text_of_parts(item, "content", {"output_text", "refusal", "text"}, "");
    if (known.text_bytes == 0) builder_.add_text(number, text, sink);
    known.text_bytes += text.size();
  } else if (type == "function_call") {
    open_item(number, item, sink);
    finish_arguments(number, json::find_string(item, "arguments").value_or(""));
  } else if (type == "reasoning") {
    auto thoughts = text_of_parts(item, "summary", {"summary_text"}, "\n\n");
    if (thoughts.empty()) thoughts = text_of_parts(item, "content", {"reasoning_text"}, "\n\n");
    if (known.thinking_bytes == 0) builder_.add_thinking(number, thoughts, sink);
    known.thinking_bytes += thoughts.size();
    if (json::find_string(item, "encrypted_content"))
      builder_.add_thinking_signature(number, json::write(item));
  }
}

std::optional<Failure> ResponsesDecoder::close(const json::object& response,
                                               const DeltaSink& sink) {
  const auto status = json::find_string(response, "status").value_or("");
  if (const auto* error = response.if_contains("error"); error && !error->is_null())
    return failure_from_stream(*error);
  if (status == "failed")
    return failure_from_stream(json::value("the backend gave up, without a reason"));
  if (const auto model = json::find_string(response, "model"); model && !model->empty())
    builder_.model = *model;
  // Takes items that were never closed or never streamed.
  if (const auto* output = json::find_array(response, "output")) {
    std::int64_t number = 0;
    for (const auto& item : *output) {
      if (const auto* fields = item.if_object(); fields && !items_.contains(number))
        close_item(number, *fields, sink);
      ++number;
    }
  }
  for (const auto& [number, item] : items_)
    if (!item.arguments_done && !item.arguments.empty()) finish_arguments(number, "");
  if (const auto* details = json::find_object(response, "incomplete_details")) {
    const auto why = json::find_string(*details, "reason").value_or("");
    if (why == "max_output_tokens") reason_ = session::StopReason::length;
    if (why == "content_filter" && items_.empty()) {
      Failure failure;
      failure.kind = Failure::Kind::invalid_request;
      failure.message = "the backend's content filter withheld the reply";
      return failure;
    }
  }
  if (const auto* usage = json::find_object(response, "usage")) take_usage(*usage);
  completed_ = done_ = true;
  return std::nullopt;
}

void ResponsesDecoder::take_usage(const json::object& usage) {
  const auto in = json::find_int(usage, "input_tokens");
  const auto out = json::find_int(usage, "output_tokens");
  // Some servers send zeros when they did not count.
  if (in.value_or(0) <= 0 && out.value_or(0) <= 0) return;
  auto& total = builder_.usage;
  if (const auto* details = json::find_object(usage, "input_tokens_details")) {
    total.cache_read =
        std::max<std::int64_t>(0, json::find_int(*details, "cached_tokens").value_or(0));
    total.cache_write =
        std::max<std::int64_t>(0, json::find_int(*details, "cache_write_tokens").value_or(0));
  }
  total.input = std::max<std::int64_t>(0, in.value_or(0) - total.cache_read - total.cache_write);
  total.output = std::max<std::int64_t>(0, out.value_or(0));
  if (const auto* details = json::find_object(usage, "output_tokens_details"))
    total.reasoning = json::find_int(*details, "reasoning_tokens").value_or(0);
  has_usage_ = true;
}

}  // namespace reef::model::openai
