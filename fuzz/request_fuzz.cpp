// Any transcript must become a valid request for every API. Each line of the input is a message in
// JSON as in a transcript; other lines are the user's words.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "model/anthropic/anthropic.h"
#include "model/bedrock/bedrock.h"
#include "model/google/google.h"
#include "model/openai/openai.h"
#include "model/validators.h"

namespace {

using namespace reef;
using namespace reef::model;

Request request_from(std::string_view text) {
  Request request;
  request.tools = {{"read.file", "Reads", {}}, {"run", "", {{"type", "object"}}}};
  request.thinking = ThinkingLevel::low;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto parsed = json::parse_lenient(line);
    session::Message message;
    if (parsed && parsed->is_object()) {
      message = session::message_from_json(parsed->as_object());
    } else {
      session::UserMessage user;
      user.content.push_back(session::TextBlock{std::string(line)});
      message = std::move(user);
    }
    request.messages.push_back(std::make_shared<const session::Message>(std::move(message)));
  }
  return request;
}

void check(const Codec& codec, Request request, const char* model,
           std::string (*validate)(const json::value&)) {
  ModelFacts facts;
  facts.thinking = true;
  facts.max_output = 64'000;
  request.model = model;
  const auto body = codec.encode(request, facts, TimePoint()).body;
  const auto parsed = json::parse(body);
  const auto verdict = parsed ? validate(*parsed) : parsed.error().what;
  if (verdict.empty()) return;
  std::fprintf(stderr, "%s: %s\n%s\n", model, verdict.c_str(), body.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const AnthropicCodec anthropic({"http://localhost", "k"});
  static const GoogleCodec google({"http://localhost", "k"});
  static const BedrockCodec bedrock({"us-east-1", "http://localhost", "k", {}});
  static const auto endpoint = openai::endpoint_at("http://localhost", "k");
  static const openai::ChatCodec chat(openai::ChatSettings{endpoint});
  static const openai::ResponsesCodec responses(endpoint);

  const auto request = request_from({reinterpret_cast<const char*>(data), size});
  check(anthropic, request, "claude-sonnet-4-5", test::validate_anthropic);
  check(anthropic, request, "claude-opus-4-6", test::validate_anthropic);
  check(google, request, "gemini-3-pro", test::validate_gemini);
  check(bedrock, request, "anthropic.claude-sonnet-4-5-v1:0", test::validate_bedrock);
  check(chat, request, "m", test::validate_openai_chat);
  check(responses, request, "m", test::validate_openai_responses);
  return 0;
}
