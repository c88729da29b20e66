#include "model/openai/chat_decoder.h"

#include "model/openai/common.h"
#include "model/openai/errors.h"

namespace reef::model::openai {

std::optional<Failure> ChatDecoder::take_event(const json::object& event, const DeltaSink& sink) {
  if (const auto* error = event.if_contains("error"); error && !error->is_null())
    return failure_from_stream(*error);
  if (json::find_string(event, "object") == "error") return failure_from_stream(json::value(event));
  if (const auto model = json::find_string(event, "model"); model && !model->empty())
    builder_.model = *model;
  if (const auto* choices = json::find_array(event, "choices")) {
    for (const auto& item : *choices) {
      const auto* choice = item.if_object();
      if (!choice || json::find_int(*choice, "index").value_or(0) != 0) continue;
      if (const auto* delta = json::find_object(*choice, "delta")) {
        take_delta(*delta, sink);
      } else if (const auto* message = json::find_object(*choice, "message")) {
        take_delta(*message, sink);
      }
      const auto reason = json::find_string(*choice, "finish_reason");
      if (reason && !reason->empty())
        if (auto failure = take_reason(*reason)) return failure;
    }
  }
  const json::object* usage = json::find_object(event, "usage");
  if (!usage)
    if (const auto* groq = json::find_object(event, "x_groq"))
      usage = json::find_object(*groq, "usage");
  if (usage) {
    take_usage(*usage);
    // Only the end mark follows, and some servers forget it.
    if (finished_) done_ = true;
  }
  return std::nullopt;
}

std::optional<Failure> ChatDecoder::take_answer(const json::object& answer, const DeltaSink& sink) {
  const auto* choices = json::find_array(answer, "choices");
  if (!choices || choices->empty()) return garbled("an answer without choices");
  finished_ = true;
  return take_event(answer, sink);
}

void ChatDecoder::say(std::string_view text, const DeltaSink& sink) {
  if (text.empty()) return;
  if (last_ != Said::text) ++block_;
  last_ = Said::text;
  builder_.add_text(block_, text, sink);
}

void ChatDecoder::think(std::string_view text, const DeltaSink& sink) {
  if (text.empty()) return;
  if (last_ != Said::thinking) ++block_;
  last_ = Said::thinking;
  builder_.add_thinking(block_, text, sink);
}

void ChatDecoder::take_delta(const json::object& delta, const DeltaSink& sink) {
  // Servers use one of these names; those that send several repeat the same text.
  for (const auto* name : {"reasoning_content", "reasoning", "reasoning_text"}) {
    const auto thought = json::find_string(delta, name);
    if (!thought || thought->empty()) continue;
    think(*thought, sink);
    break;
  }
  if (const auto* content = delta.if_contains("content")) take_content(*content, sink);
  if (const auto refusal = json::find_string(delta, "refusal")) say(*refusal, sink);
  if (const auto* calls = json::find_array(delta, "tool_calls"))
    for (const auto& call : *calls)
      if (const auto* fields = call.if_object()) take_call(*fields, sink);
  if (const auto* call = json::find_object(delta, "function_call"))
    take_call(json::object{{"index", 0}, {"function", *call}}, sink);
}

void ChatDecoder::take_content(const json::value& content, const DeltaSink& sink) {
  if (content.is_string()) {
    say(content.get_string(), sink);
    return;
  }
  const auto* parts = content.if_array();
  if (!parts) return;
  for (const auto& part : *parts) {
    const auto* fields = part.if_object();
    if (!fields) continue;
    if (const auto text = json::find_string(*fields, "text")) say(*text, sink);
    if (const auto thought = json::find_string(*fields, "thinking")) think(*thought, sink);
    if (const auto* thoughts = json::find_array(*fields, "thinking"))
      for (const auto& thought : *thoughts)
        if (const auto* inner = thought.if_object())
          if (const auto text = json::find_string(*inner, "text")) think(*text, sink);
  }
}

std::int64_t ChatDecoder::place(std::optional<std::int64_t> index, std::string_view id) {
  // Takes the newest call that matches: a server that repeats an index means the last call it
  // opened.
  std::optional<std::size_t> found;
  if (index) {
    found = without_index_;
    if (const auto same = by_index_.find(*index); same != by_index_.end())
      found = std::max(found.value_or(0), same->second);
    // A different id makes it a different call, whatever the index says.
    if (found && !id.empty() && !calls_[*found].id.empty() && calls_[*found].id != id)
      found = std::nullopt;
  } else if (!id.empty()) {
    if (!without_id_.empty()) found = *without_id_.rbegin();
    if (const auto same = by_id_.find(id); same != by_id_.end())
      found = std::max(found.value_or(0), same->second);
  } else if (!calls_.empty()) {
    found = calls_.size() - 1;
  }
  if (!found) {
    found = calls_.size();
    calls_.push_back(Call{index.value_or(-1), {}});
    without_id_.insert(*found);
    if (index && *index >= 0) {
      by_index_[*index] = *found;
    } else {
      without_index_ = found;
    }
  }
  if (auto& call = calls_[*found]; call.id.empty() && !id.empty()) {
    call.id = id;
    without_id_.erase(*found);
    auto& newest = by_id_[call.id];
    newest = std::max(newest, *found);
  }
  return static_cast<std::int64_t>(*found);
}

void ChatDecoder::take_call(const json::object& call, const DeltaSink& sink) {
  const auto id = json::find_string(call, "id").value_or("");
  const auto* function = json::find_object(call, "function");
  const auto before = calls_.size();
  const auto number = place(json::find_int(call, "index"), id);
  const auto name = function ? json::find_string(*function, "name").value_or("") : "";
  if (calls_.size() > before && id.empty()) {
    builder_.add_call(number, ids_.next(calls_.size()), name, sink);
  } else {
    builder_.add_call(number, id, name, sink);
  }
  if (!function) return;
  const auto* arguments = function->if_contains("arguments");
  if (!arguments) return;
  if (arguments->is_string()) builder_.add_arguments(number, arguments->get_string());
  if (arguments->is_object()) builder_.set_arguments(number, arguments->get_object());
}

std::optional<Failure> ChatDecoder::take_reason(std::string_view reason) {
  finished_ = true;
  if (reason == "content_filter" && last_ == Said::nothing && calls_.empty()) {
    Failure failure;
    failure.kind = Failure::Kind::invalid_request;
    failure.message = "the backend's content filter withheld the reply";
    return failure;
  }
  if (reason == "length" || reason == "max_tokens" || reason == "model_length") {
    reason_ = session::StopReason::length;
  } else {
    reason_ = session::StopReason::stop;
  }
  return std::nullopt;
}

void ChatDecoder::take_usage(const json::object& usage) {
  const auto in = json::find_int(usage, "prompt_tokens");
  const auto out = json::find_int(usage, "completion_tokens");
  // Some servers send zeros when they did not count.
  if (in.value_or(0) <= 0 && out.value_or(0) <= 0) return;
  std::int64_t read = 0;
  std::int64_t written = 0;
  if (const auto* details = json::find_object(usage, "prompt_tokens_details")) {
    read = json::find_int(*details, "cached_tokens").value_or(0);
    written = json::find_int(*details, "cache_write_tokens").value_or(0);
  }
  if (!read) read = json::find_int(usage, "prompt_cache_hit_tokens").value_or(0);
  auto& total = builder_.usage;
  total.cache_read = std::max<std::int64_t>(read, 0);
  total.cache_write = std::max<std::int64_t>(written, 0);
  total.input = std::max<std::int64_t>(0, in.value_or(0) - total.cache_read - total.cache_write);
  total.output = std::max<std::int64_t>(0, out.value_or(0));
  if (const auto* details = json::find_object(usage, "completion_tokens_details"))
    total.reasoning = json::find_int(*details, "reasoning_tokens").value_or(0);
  total.cost.total = json::find_number(usage, "cost").value_or(0);
  has_usage_ = true;
}

}  // namespace reef::model::openai
