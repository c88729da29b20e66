// Code shared by both of OpenAI's APIs. Pure functions; internal to openai/.
#pragma once

#include <string>

#include "model/codec.h"
#include "model/openai/openai.h"

namespace reef::model::openai {

// "minimal" ... "high"; empty when thinking is off.
std::string_view effort_of(ThinkingLevel level, bool official);
json::object schema_of(const Tool& tool);
// Sets `tool_choice`; `named` is this API's form for naming one function.
void add_tool_choice(json::object& body, const ToolChoice& choice, json::object named);
std::string data_url(std::string_view mime_type, std::string_view base64);
HttpRequest post_json(const std::string& url, const Headers& headers, const json::object& body);
HttpRequest get_json(const std::string& url, const Headers& headers);
std::vector<ModelFacts> models_from(std::string_view body);

// Makes ids of calls for backends that give none: different in every step of a conversation, but
// the same for the same request, which must outlive this.
class MadeUpIds {
 public:
  explicit MadeUpIds(const Request& request) : request_(request) {}
  std::string next(std::size_t number);

 private:
  const Request& request_;
  std::optional<std::uint64_t> mark_;  // hash of the request, which may be long
};

// Estimates tokens when the backend reports none.
session::Usage estimated_usage(const Request& request, const std::vector<session::Block>& content);

}  // namespace reef::model::openai
