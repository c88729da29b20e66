// Chat Completions and Responses, as OpenAI documents them.
#include <set>

#include <fmt/format.h>

#include "model/azure/azure.h"
#include "model/backends.h"
#include "model/openai/openai.h"

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

std::string chat_usage() {
  return data(json::object{
      {"id", "chatcmpl-1"},
      {"object", "chat.completion.chunk"},
      {"model", "used-model"},
      {"choices", json::array()},
      {"usage", json::object{{"prompt_tokens", 11},
                             {"completion_tokens", 5},
                             {"total_tokens", 16},
                             {"prompt_tokens_details", json::object{{"cached_tokens", 4}}}}}});
}

std::string chat_say(const std::vector<std::string>& pieces) {
  auto out = data(chunk({{"role", "assistant"}, {"content", ""}}));
  for (const auto& piece : pieces) out += data(chunk({{"content", piece}}));
  return out + data(chunk({}, "stop")) + chat_usage() + "data: [DONE]\n\n";
}

json::object call_delta(int index, const char* id, const char* name, const char* arguments) {
  json::object function{{"arguments", arguments}};
  if (name) function["name"] = name;
  json::object call{{"index", index}, {"function", std::move(function)}};
  if (id) {
    call["id"] = id;
    call["type"] = "function";
  }
  return {{"tool_calls", json::array{std::move(call)}}};
}

std::string chat_calls() {
  return data(chunk({{"role", "assistant"}, {"content", nullptr}})) +
         data(chunk({{"content", "Let me look."}})) + data(chunk(call_delta(0, "c1", "ls", ""))) +
         data(chunk(call_delta(0, nullptr, nullptr, R"({"pa)"))) +
         data(chunk(call_delta(0, nullptr, nullptr, R"(th":"/tmp"})"))) +
         data(chunk(call_delta(1, "c2", "read", ""))) +
         data(chunk(call_delta(1, nullptr, nullptr, R"({"file":"a b","n":3})"))) +
         data(chunk({}, "tool_calls")) + chat_usage() + "data: [DONE]\n\n";
}

// What the service refuses, of what a client could get wrong.
std::string judge_chat_messages(const json::array& messages) {
  std::vector<std::string> open;  // calls that wait for their results
  std::set<std::string> ids;
  for (const auto& item : messages) {
    const auto& message = item.as_object();
    const auto role = std::string(json::find_string(message, "role").value_or(""));
    if (role == "tool") {
      const auto id = json::find_string(message, "tool_call_id").value_or("");
      const auto found = std::find(open.begin(), open.end(), id);
      if (found == open.end())
        return fmt::format("a tool message for '{}' without its call right before", id);
      open.erase(found);
      if (!message.contains("content")) return "a tool message without content";
      continue;
    }
    if (!open.empty()) return fmt::format("no result for the call '{}'", open.front());
    const auto* content = message.if_contains("content");
    if (role == "user" || role == "system") {
      if (!content || !(content->is_string() || content->is_array()))
        return role + " without content";
      if (content->is_string() && content->get_string().empty()) return role + " says nothing";
      if (const auto* parts = content->if_array())
        for (const auto& part : *parts) {
          const auto type = json::find_string(part.as_object(), "type");
          if (type != "text" && type != "image_url") return "an unknown kind of part";
          if (type == "image_url" && !json::find_string(part.at("image_url").as_object(), "url")
                                          ->starts_with("data:image/"))
            return "an image that is none";
        }
    } else if (role == "assistant") {
      const auto* calls = json::find_array(message, "tool_calls");
      if (!calls && !(content && content->is_string())) return "an assistant who says nothing";
      if (calls && calls->empty()) return "an empty list of calls";
      if (calls)
        for (const auto& call : *calls) {
          const auto& fields = call.as_object();
          const std::string id(json::find_string(fields, "id").value_or(""));
          if (id.empty() || id.size() > 64) return "a call without a proper id";
          if (!ids.insert(id).second) return "an id that was used before";
          if (json::find_string(fields, "type") != "function") return "a call of no type";
          const auto& function = fields.at("function").as_object();
          const auto name = json::find_string(function, "name").value_or("");
          if (name.empty() || name.size() > 64 ||
              name.find_first_not_of(
                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
                  std::string_view::npos)
            return fmt::format("the name '{}'", name);
          const auto arguments = json::find_string(function, "arguments");
          if (!arguments || !json::parse(*arguments)) return "arguments that are no JSON";
          open.push_back(id);
        }
    } else {
      return "the role '" + role + "'";
    }
  }
  return open.empty() ? "" : "the last calls have no results";
}

std::string judge_chat(const SeenRequest& request) {
  if (request.method != "POST") return "method";
  if (!request.target.ends_with("/v1/chat/completions")) return "path " + request.target;
  if (request.headers.at("authorization") != "Bearer sk-test") return "authorization";
  if (request.headers.at("content-type") != "application/json") return "content-type";
  const auto body = json::parse(request.body);
  if (!body) return body.error().what;
  const auto& fields = body->as_object();
  if (json::find_bool(fields, "stream") != true) return "no stream";
  if (json::find_bool(fields.at("stream_options").as_object(), "include_usage") != true)
    return "no usage asked for";
  if (const auto* tools = json::find_array(fields, "tools"))
    for (const auto& tool : *tools)
      if (json::find_string(tool.at("function").at("parameters").as_object(), "type") != "object")
        return "parameters that are no object";
  const auto* messages = json::find_array(fields, "messages");
  if (!messages || messages->empty()) return "no messages";
  return judge_chat_messages(*messages);
}

std::string judge_responses(const SeenRequest& request) {
  if (request.method != "POST") return "method";
  if (!request.target.ends_with("/v1/responses")) return "path " + request.target;
  if (request.headers.at("authorization") != "Bearer sk-test") return "authorization";
  const auto body = json::parse(request.body);
  if (!body) return body.error().what;
  const auto& fields = body->as_object();
  if (json::find_bool(fields, "stream") != true) return "no stream";
  if (json::find_bool(fields, "store") != false) return "is kept";
  const auto* input = json::find_array(fields, "input");
  if (!input || input->empty()) return "no input";
  std::set<std::string> calls;
  std::set<std::string> results;
  for (const auto& value : *input) {
    const auto& item = value.as_object();
    const auto type = json::find_string(item, "type").value_or("message");
    if (type == "function_call") {
      const std::string id(json::find_string(item, "call_id").value_or(""));
      if (id.empty() || id.size() > 64 || !calls.insert(id).second) return "call_id '" + id + "'";
      if (!json::find_string(item, "name")) return "a call without a name";
      const auto arguments = json::find_string(item, "arguments");
      if (!arguments || !json::parse(*arguments)) return "arguments that are no JSON";
    } else if (type == "function_call_output") {
      const std::string id(json::find_string(item, "call_id").value_or(""));
      if (!calls.contains(id)) return "a result without its call: " + id;
      if (!results.insert(id).second) return "two results for " + id;
      if (!item.contains("output")) return "a result without output";
    } else if (type == "message") {
      const auto role = json::find_string(item, "role").value_or("");
      if (role != "user" && role != "assistant") return "role";
      if (!item.contains("content")) return "no content";
      if (const auto* parts = json::find_array(item, "content"))
        for (const auto& part : *parts) {
          const auto kind = json::find_string(part.as_object(), "type").value_or("");
          if (kind != "input_text" && kind != "input_image") return "part " + std::string(kind);
        }
    } else if (type != "reasoning" || !item.contains("encrypted_content")) {
      return "item " + std::string(type);
    }
  }
  return calls == results ? "" : "a call without its result";
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

json::object usage_of_response() {
  return {{"input_tokens", 11},
          {"input_tokens_details", json::object{{"cached_tokens", 4}}},
          {"output_tokens", 5},
          {"output_tokens_details", json::object{{"reasoning_tokens", 0}}},
          {"total_tokens", 16}};
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

std::string complete() {
  return named("response.completed",
               {{"response", response({{"status", "completed"}, {"usage", usage_of_response()}})}});
}

}  // namespace

Backend openai_chat() {
  Backend backend;
  backend.name = "OpenAiChat";
  backend.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<openai::ChatCodec>(
        openai::ChatSettings{openai::endpoint_at(base_url, key)});
  };
  backend.say = chat_say;
  backend.calls = chat_calls();
  backend.thinking = data(chunk({{"role", "assistant"}, {"reasoning_content", "Hmm, "}})) +
                     data(chunk({{"reasoning_content", "2+2."}, {"content", nullptr}})) +
                     data(chunk({{"content", "4"}})) + data(chunk({}, "stop")) + chat_usage() +
                     "data: [DONE]\n\n";
  backend.length = data(chunk({{"content", "cut"}})) + data(chunk({}, "length")) + chat_usage() +
                   "data: [DONE]\n\n";
  backend.failing = data(chunk({{"content", "so far"}})) +
                    data(json::object{{"error", json::object{{"message", "Overloaded"},
                                                             {"type", "overloaded_error"}}}});
  backend.errors = openai_errors();
  backend.judge = judge_chat;
  return backend;
}

Backend openai_responses() {
  Backend backend;
  backend.name = "OpenAiResponses";
  backend.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<openai::ResponsesCodec>(openai::endpoint_at(base_url, key));
  };
  backend.say = [](const std::vector<std::string>& pieces) {
    return begin() + message_item(0, pieces) + complete();
  };
  backend.calls = begin() + message_item(0, {"Let me ", "look."}) +
                  call_item(1, "c1", "ls", {R"({"pa)", R"(th":"/tmp"})"}) +
                  call_item(2, "c2", "read", {R"({"file":"a b","n":3})"}) + complete();
  const json::object reasoning{
      {"type", "reasoning"},
      {"id", "rs_1"},
      {"encrypted_content", "gAAAA"},
      {"summary", json::array{json::object{{"type", "summary_text"}, {"text", "Hmm, 2+2."}}}}};
  backend.thinking =
      begin() +
      named("response.output_item.added",
            {{"output_index", 0},
             {"item",
              json::object{{"type", "reasoning"}, {"id", "rs_1"}, {"summary", json::array()}}}}) +
      named("response.reasoning_summary_text.delta",
            {{"output_index", 0}, {"summary_index", 0}, {"delta", "Hmm, "}}) +
      named("response.reasoning_summary_text.delta",
            {{"output_index", 0}, {"summary_index", 0}, {"delta", "2+2."}}) +
      named("response.output_item.done", {{"output_index", 0}, {"item", reasoning}}) +
      message_item(1, {"4"}) + complete();
  backend.length =
      begin() + message_item(0, {"cut"}) +
      named("response.incomplete",
            {{"response",
              response({{"status", "incomplete"},
                        {"incomplete_details", json::object{{"reason", "max_output_tokens"}}},
                        {"usage", usage_of_response()}})}});
  backend.failing =
      begin() + named("response.output_text.delta", {{"output_index", 0}, {"delta", "so far"}}) +
      named("response.failed",
            {{"response", response({{"status", "failed"},
                                    {"error", json::object{{"code", "server_is_overloaded"},
                                                           {"message", "Try later"}}}})}});
  backend.errors = openai_errors();
  backend.judge = judge_responses;
  return backend;
}

Backend azure_dated() {
  auto backend = openai_chat();
  backend.name = "AzureChat";
  backend.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<openai::ChatCodec>(
        openai::ChatSettings{azure::endpoint_at({base_url, "2024-10-21"}, key)});
  };
  // Azure begins with what its filter thought of the prompt.
  const auto filter =
      data(json::object{{"choices", json::array()},
                        {"created", 0},
                        {"id", ""},
                        {"model", ""},
                        {"prompt_filter_results", json::array{json::object{{"prompt_index", 0}}}}});
  backend.say = [filter](const std::vector<std::string>& pieces) {
    return filter + chat_say(pieces);
  };
  backend.calls.insert(0, filter);
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
    return judge_chat_messages(body->at("messages").as_array());
  };
  return backend;
}

}  // namespace reef::model::test
