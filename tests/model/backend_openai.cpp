// Chat Completions and Responses, as OpenAI documents them.
#include <fmt/format.h>

#include "base/overload.h"
#include "model/azure/azure.h"
#include "model/backends.h"
#include "model/openai/openai.h"
#include "model/validators.h"

namespace reef::model::test {
namespace {

using reef::test::SeenRequest;

std::string data(const json::value& value) {
  return "data: " + json::write(value) + "\n\n";
}

std::string named(std::string_view type, json::object fields) {
  static int sequence = 0;
  fields["type"] = type;
  fields["sequence_number"] = ++sequence;
  return fmt::format("event: {}\n", type) + data(fields);
}

json::object chunk(json::object delta, json::value finish = nullptr) {
  return {{"id", "chatcmpl-1"},
          {"object", "chat.completion.chunk"},
          {"created", 1},
          {"model", "used-model"},
          {"choices",
           json::array{json::object{
               {"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}}}};
}

std::string chat_usage(const Script& script) {
  const auto prompt = script.input + script.cache_read + script.cache_write;
  return data(json::object{
      {"id", "chatcmpl-1"},
      {"object", "chat.completion.chunk"},
      {"model", script.model},
      {"choices", json::array()},
      {"usage",
       json::object{
           {"prompt_tokens", prompt},
           {"completion_tokens", script.output},
           {"total_tokens", prompt + script.output},
           {"prompt_tokens_details", json::object{{"cached_tokens", script.cache_read},
                                                  {"cache_write_tokens", script.cache_write}}},
           {"completion_tokens_details", json::object{{"reasoning_tokens", script.reasoning}}}}}});
}

json::object call_delta(int index, const std::string& id, const std::string& name,
                        const std::string& arguments) {
  json::object function{{"arguments", arguments}};
  if (!name.empty()) function["name"] = name;
  json::object call{{"index", index}, {"function", std::move(function)}};
  if (!id.empty()) {
    call["id"] = id;
    call["type"] = "function";
  }
  return {{"tool_calls", json::array{std::move(call)}}};
}

std::string chat_stream(const Script& script) {
  auto out = data(chunk({{"role", "assistant"}, {"content", ""}}));
  int calls = 0;
  for (const auto& said : script.blocks)
    std::visit(Overload{
                   [&](const Script::Text& text) {
                     for (const auto& piece : text.pieces) out += data(chunk({{"content", piece}}));
                   },
                   // OpenAI has no such field; other servers show their models' thoughts in it.
                   [&](const Script::Thinking& thinking) {
                     for (const auto& piece : thinking.pieces)
                       out += data(chunk({{"reasoning_content", piece}, {"content", nullptr}}));
                   },
                   [&](const Script::Call& call) {
                     out += data(chunk(call_delta(calls, call.id, call.name, "")));
                     for (const auto& piece : call.argument_pieces)
                       out += data(chunk(call_delta(calls, "", "", piece)));
                     ++calls;
                   },
               },
               said);
  const auto* reason = script.stop == Script::Stop::end      ? "stop"
                       : script.stop == Script::Stop::length ? "length"
                                                             : "tool_calls";
  return out + data(chunk({}, reason)) + chat_usage(script) + "data: [DONE]\n\n";
}

std::string judge(const SeenRequest& request, std::string_view path,
                  std::string (*validate)(const json::value&)) {
  if (request.method != "POST") return "method";
  if (!request.target.ends_with(path)) return "path " + request.target;
  if (request.headers.at("authorization") != "Bearer sk-test") return "authorization";
  if (request.headers.at("content-type") != "application/json") return "content-type";
  const auto body = json::parse(request.body);
  if (!body) return body.error().what;
  if (json::find_bool(body->as_object(), "stream") != true) return "no stream";
  return validate(*body);
}

std::string judge_chat(const SeenRequest& request) {
  const auto body = json::parse(request.body);
  if (!body || json::find_bool(body->at("stream_options").as_object(), "include_usage") != true)
    return "no usage asked for";
  return judge(request, "/v1/chat/completions", reef::test::validate_openai_chat);
}

std::string judge_responses(const SeenRequest& request) {
  return judge(request, "/v1/responses", reef::test::validate_openai_responses);
}

std::vector<Backend::HttpError> openai_errors() {
  using Kind = Failure::Kind;
  return {
      {401,
       R"({"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}})",
       Kind::auth},
      {403,
       R"({"error":{"message":"Country not supported","type":"request_forbidden","code":"x"}})",
       Kind::auth},
      {404,
       R"({"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}})",
       Kind::invalid_request},
      {429,
       R"({"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}})",
       Kind::rate_limit},
      {500, R"({"error":{"message":"The server had an error","type":"server_error"}})",
       Kind::server},
      {503, R"({"error":{"message":"The engine is overloaded","type":"service_unavailable"}})",
       Kind::overloaded},
      {400,
       R"({"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}})",
       Kind::context_overflow},
      {400, R"({"error":{"message":"Unknown parameter: 'x'","type":"invalid_request_error"}})",
       Kind::invalid_request},
      {502, "<html><body>Bad Gateway</body></html>", Kind::server},
  };
}

json::object response(json::object more) {
  json::object out{{"id", "resp_1"}, {"object", "response"}, {"model", "used-model"}};
  for (auto& [name, value] : more) out[name] = value;
  return out;
}

json::object usage_of_response(const Script& script) {
  const auto input = script.input + script.cache_read + script.cache_write;
  return {{"input_tokens", input},
          {"input_tokens_details", json::object{{"cached_tokens", script.cache_read},
                                                {"cache_write_tokens", script.cache_write}}},
          {"output_tokens", script.output},
          {"output_tokens_details", json::object{{"reasoning_tokens", script.reasoning}}},
          {"total_tokens", input + script.output}};
}

std::string begin() {
  const json::object fields{{"response", response({{"status", "in_progress"}})}};
  return named("response.created", fields) + named("response.in_progress", fields);
}

std::string message_item(int index, const std::vector<std::string>& pieces) {
  std::string whole;
  const auto item = [&](const char* status) {
    json::array content;
    if (!whole.empty())
      content.push_back(
          json::object{{"type", "output_text"}, {"annotations", json::array()}, {"text", whole}});
    return json::object{{"type", "message"},
                        {"id", "msg_1"},
                        {"status", status},
                        {"role", "assistant"},
                        {"content", std::move(content)}};
  };
  const json::object place{{"output_index", index}, {"item_id", "msg_1"}, {"content_index", 0}};
  const auto with = [&](json::object more) {
    for (const auto& [name, value] : place) more[name] = value;
    return more;
  };
  auto out = named("response.output_item.added",
                   {{"output_index", index}, {"item", item("in_progress")}}) +
             named("response.content_part.added",
                   with({{"part", json::object{{"type", "output_text"}, {"text", ""}}}}));
  for (const auto& piece : pieces) {
    whole += piece;
    out +=
        named("response.output_text.delta", with({{"delta", piece}, {"logprobs", json::array()}}));
  }
  return out + named("response.output_text.done", with({{"text", whole}})) +
         named("response.content_part.done",
               with({{"part", json::object{{"type", "output_text"}, {"text", whole}}}})) +
         named("response.output_item.done", {{"output_index", index}, {"item", item("completed")}});
}

std::string call_item(int index, const std::string& id, const std::string& name,
                      const std::vector<std::string>& pieces) {
  std::string whole;
  const auto item = [&](const char* status) {
    return json::object{{"type", "function_call"}, {"id", "fc_" + id},
                        {"call_id", id},           {"name", name},
                        {"status", status},        {"arguments", whole}};
  };
  auto out =
      named("response.output_item.added", {{"output_index", index}, {"item", item("in_progress")}});
  for (const auto& piece : pieces) {
    whole += piece;
    out += named("response.function_call_arguments.delta",
                 {{"output_index", index}, {"item_id", "fc_" + id}, {"delta", piece}});
  }
  return out +
         named("response.function_call_arguments.done",
               {{"output_index", index}, {"item_id", "fc_" + id}, {"arguments", whole}}) +
         named("response.output_item.done", {{"output_index", index}, {"item", item("completed")}});
}

std::string reasoning_item(int index, const Script::Thinking& thinking) {
  std::string whole;
  auto out = named(
      "response.output_item.added",
      {{"output_index", index},
       {"item", json::object{{"type", "reasoning"}, {"id", "rs_1"}, {"summary", json::array()}}}});
  for (const auto& piece : thinking.pieces) {
    whole += piece;
    out += named("response.reasoning_summary_text.delta",
                 {{"output_index", index}, {"summary_index", 0}, {"delta", piece}});
  }
  const json::object item{
      {"type", "reasoning"},
      {"id", "rs_1"},
      {"encrypted_content", thinking.signature},
      {"summary", json::array{json::object{{"type", "summary_text"}, {"text", whole}}}}};
  return out + named("response.output_item.done", {{"output_index", index}, {"item", item}});
}

std::string responses_stream(const Script& script) {
  auto out = begin();
  int index = 0;
  for (const auto& said : script.blocks) {
    std::visit(
        Overload{
            [&](const Script::Text& text) { out += message_item(index, text.pieces); },
            [&](const Script::Thinking& thinking) { out += reasoning_item(index, thinking); },
            [&](const Script::Call& call) {
              out += call_item(index, call.id, call.name, call.argument_pieces);
            },
        },
        said);
    ++index;
  }
  if (script.stop == Script::Stop::length)
    return out +
           named("response.incomplete",
                 {{"response",
                   response({{"status", "incomplete"},
                             {"incomplete_details", json::object{{"reason", "max_output_tokens"}}},
                             {"usage", usage_of_response(script)}})}});
  return out + named("response.completed",
                     {{"response",
                       response({{"status", "completed"}, {"usage", usage_of_response(script)}})}});
}

}  // namespace

Backend openai_chat() {
  Backend backend;
  backend.name = "OpenAiChat";
  backend.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<openai::ChatCodec>(
        openai::ChatSettings{openai::endpoint_at(base_url, key)});
  };
  backend.stream = chat_stream;
  backend.failing = data(chunk({{"content", "so far"}})) +
                    data(json::object{{"error", json::object{{"message", "Overloaded"},
                                                             {"type", "overloaded_error"}}}});
  backend.errors = openai_errors();
  backend.judge = judge_chat;
  backend.counts_cache_writes = true;
  backend.validate = reef::test::validate_openai_chat;
  backend.has_signatures = false;
  return backend;
}

Backend openai_responses() {
  Backend backend;
  backend.name = "OpenAiResponses";
  backend.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<openai::ResponsesCodec>(openai::endpoint_at(base_url, key));
  };
  backend.stream = responses_stream;
  backend.failing =
      begin() + named("response.output_text.delta", {{"output_index", 0}, {"delta", "so far"}}) +
      named("response.failed",
            {{"response", response({{"status", "failed"},
                                    {"error", json::object{{"code", "server_is_overloaded"},
                                                           {"message", "Try later"}}}})}});
  backend.errors = openai_errors();
  backend.judge = judge_responses;
  backend.counts_cache_writes = true;
  backend.validate = reef::test::validate_openai_responses;
  return backend;
}

Backend azure_dated() {
  auto backend = openai_chat();
  backend.name = "AzureChat";
  backend.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<openai::ChatCodec>(
        openai::ChatSettings{azure::endpoint_at({base_url, "2024-10-21"}, key)});
  };
  // Azure begins with the verdict of its filter on the prompt.
  const auto filter =
      data(json::object{{"choices", json::array()},
                        {"created", 0},
                        {"id", ""},
                        {"model", ""},
                        {"prompt_filter_results", json::array{json::object{{"prompt_index", 0}}}}});
  backend.stream = [filter](const Script& script) { return filter + chat_stream(script); };
  backend.errors.push_back(
      {400,
       R"({"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400}})",
       Failure::Kind::invalid_request});
  backend.judge = [](const SeenRequest& request) -> std::string {
    if (request.target != "/openai/deployments/asked-model/chat/completions?api-version=2024-10-21")
      return "path " + request.target;
    if (request.headers.at("api-key") != "sk-test") return "api-key";
    if (request.headers.contains("authorization")) return "two kinds of authorization";
    const auto body = json::parse(request.body);
    if (!body) return body.error().what;
    return reef::test::validate_openai_chat(*body);
  };
  return backend;
}

}  // namespace reef::model::test
