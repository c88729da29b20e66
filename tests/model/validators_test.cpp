// The validators must refuse: each body here differs from a good one in one thing that the real
// service refuses.
#include "model/validators.h"

#include <functional>

#include <gtest/gtest.h>

namespace reef::test {
namespace {

struct Case {
  const char* path;         // JSON pointer of the value to change
  const char* replacement;  // JSON; empty removes the value
  const char* complaint;    // part of the verdict
};

void check(std::string (*validate)(const json::value&), std::string_view good_text,
           std::initializer_list<Case> cases) {
  const auto good = json::parse(good_text);
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(validate(*good), "");
  for (const auto& [path, replacement, complaint] : cases) {
    auto bad = *good;
    const std::string_view whole(path);
    const auto slash = whole.rfind('/');
    const auto last = whole.substr(slash + 1);
    auto& parent = bad.at_pointer(whole.substr(0, slash));
    if (!*replacement) {
      parent.as_object().erase(last);
    } else if (auto* object = parent.if_object()) {
      (*object)[last] = *json::parse(replacement);
    } else {
      // The index after the last element appends.
      const auto index = static_cast<std::size_t>(last[0] - '0');
      auto& items = parent.as_array();
      if (index == items.size()) items.emplace_back(nullptr);
      items.at(index) = *json::parse(replacement);
    }
    const auto verdict = validate(bad);
    EXPECT_NE(verdict.find(complaint), std::string::npos)
        << path << " = " << replacement << " got: '" << verdict << "'";
    EXPECT_NE(verdict, "") << path;
  }
}

TEST(Validators, Anthropic) {
  check(validate_anthropic, R"({
    "model": "claude-sonnet-4-5", "max_tokens": 4096, "stream": true,
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "go"}]},
      {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "a", "name": "ls", "input": {}},
        {"type": "tool_use", "id": "b", "name": "ls", "input": {}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]},
        {"type": "tool_result", "tool_use_id": "b", "content": []}]}]})",
        {{"/max_tokens", "0", "max_tokens"},
         {"/max_tokens", "2048", "budget_tokens"},
         {"/thinking/budget_tokens", "100", "budget_tokens"},
         {"/tool_choice", R"({"type":"any"})", "forced"},
         {"/tools", "", "without tools"},
         {"/tools/0/name", "\"a.b\"", "bad character"},
         {"/tools/0/input_schema/type", "\"string\"", "object"},
         {"/system/0/text", "\" \"", "blank"},
         {"/temprature", "1", "unknown field"},
         {"/messages", "[]", "empty"},
         {"/messages/0/role", "\"assistant\"", "alternate"},
         {"/messages/0/content", "[]", "empty"},
         {"/messages/0/content/0/text", "\"\"", "blank"},
         {"/messages/1/content/0/signature", "\"\"", "blank"},
         {"/messages/1/content/0", R"({"type":"text","text":"x"})", "expected thinking"},
         {"/messages/1/content/1/id", "\"b\"", "twice"},
         {"/messages/1/content/1/id", "\"a|b\"", "bad character"},
         {"/messages/1/content/1/input", "\"{}\"", "no object"},
         {"/messages/1/content/2", R"({"type":"thinking","thinking":"","signature":"s"})",
          "final block"},
         {"/messages/2/content/0/tool_use_id", "\"z\"", "not open"},
         {"/messages/2/content/1", R"({"type":"text","text":"x"})", "without a result"},
         {"/messages/2/content/0", R"({"type":"text","text":"x"})", "must come first"}});
}

TEST(Validators, OpenAiChat) {
  check(validate_openai_chat, R"({
    "model": "m", "stream": true, "stream_options": {"include_usage": true},
    "tools": [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}],
    "messages": [
      {"role": "system", "content": "Be brief."},
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "x"},
      {"role": "tool", "tool_call_id": "b", "content": "y"}]})",
        {{"/messages", "[]", "empty"},
         {"/messages/1/content", "\"\"", "empty"},
         {"/messages/2/tool_calls", "", "without content"},
         {"/messages/2/tool_calls", "[]", "empty"},
         {"/messages/2/tool_calls/1/id", "\"a\"", "twice"},
         {"/messages/2/tool_calls/1/id", "\"12345678901234567890123456789012345678901\"", "bad id"},
         {"/messages/2/tool_calls/0/function/arguments", "\"{\"", "no JSON"},
         {"/messages/2/tool_calls/0/function/name", "\"a.b\"", "bad character"},
         {"/messages/3/tool_call_id", "\"z\"", "must answer"},
         {"/messages/4", R"({"role":"user","content":"x"})", "must be followed"},
         {"/tools/0/function/parameters", "{}", "type is missing"},
         {"/tool_choice", R"({"type":"function","function":{"name":"x"}})", "names no tool"},
         {"/stream", "false", "without stream"}});
}

TEST(Validators, OpenAiResponses) {
  check(validate_openai_responses, R"({
    "model": "m", "stream": true, "store": false,
    "input": [
      {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
      {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
      {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "a", "output": "x"}]})",
        {{"/input", "[]", "empty"},
         {"/messages", "[]", "no field"},
         {"/max_output_tokens", "4", "below 16"},
         {"/input/0/content/0/type", "\"output_text\"", "unknown part"},
         {"/input/1/encrypted_content", "", "not stored"},
         {"/input/1/id", "\"x\"", "prefix"},
         {"/input/2/arguments", "\"[]\"", "no JSON object"},
         {"/input/2", R"({"role":"user","content":"x"})", "following item"},
         {"/input/3/call_id", "\"b\"", "no tool call"},
         {"/input/3", R"({"role":"user","content":"x"})", "no tool output"}});
}

TEST(Validators, Gemini) {
  check(validate_gemini, R"({
    "tools": [{"functionDeclarations": [{"name": "ls", "parameters": {"type": "object",
      "properties": {"p": {"type": "string"}}, "required": ["p"]}}]}],
    "contents": [
      {"role": "user", "parts": [{"text": "go"}]},
      {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "ls", "args": {}}}]},
      {"role": "user", "parts": [{"functionResponse":
        {"id": "a", "name": "ls", "response": {"output": "x"}}}]},
      {"role": "user", "parts": [{"text": "and?"}]}]})",
        {{"/contents", "[]", "empty"},
         {"/model", "\"m\"", "unknown field"},
         {"/contents/0/role", "\"assistant\"", "not known"},
         {"/contents/0/role", "\"model\"", "user's"},
         {"/contents/0/parts/0/text", "\"\"", "empty"},
         {"/contents/1/parts/0/functionCall/name", "\"9a\"", "start with"},
         {"/contents/2/parts/0", R"({"text":"x"})", "number of function response parts"},
         {"/contents/2/parts/1", R"({"text":"x"})", "number of function response parts"},
         {"/contents/2/parts/0/functionResponse/id", "\"b\"", "match"},
         {"/contents/2/parts/0/functionResponse/response", "\"x\"", "no object"},
         {"/contents/3/role", "\"model\"", "last content"},
         {"/tools/0/functionDeclarations/0/parameters/properties", "{}", "non-empty"},
         {"/tools/0/functionDeclarations/0/parameters/additionalProperties", "false",
          "unknown field"},
         {"/tools/0/functionDeclarations/0/parameters/required", R"(["q"])", "no property"},
         {"/tools/0/functionDeclarations/0/parameters/properties/p", R"({"type":"array"})",
          "items"}});
}

TEST(Validators, Bedrock) {
  check(validate_bedrock, R"({
    "system": [{"text": "Be brief."}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "ls", "inputSchema": {"json":
      {"type": "object"}}}}], "toolChoice": {"auto": {}}},
    "messages": [
      {"role": "user", "content": [{"text": "go"}]},
      {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"toolUse": {"toolUseId": "a", "name": "ls", "input": {}}}]},
      {"role": "user", "content": [
        {"toolResult": {"toolUseId": "a", "content": [{"text": "x"}], "status": "error"}}]}]})",
        {{"/model", "\"m\"", "unknown field"},
         {"/toolConfig", "", "toolConfig field must be defined"},
         {"/toolConfig/tools", "[]", "empty"},
         {"/toolConfig/tools/0/toolSpec/description", "\"\"", "blank"},
         {"/messages/0/content/0/text", "\" \"", "blank"},
         {"/messages/0/role", "\"assistant\"", "alternate"},
         {"/messages/0/content/0", R"({"cachePoint":{"type":"default"}})", "before any content"},
         {"/messages/1/content/0/reasoningContent/reasoningText/signature", "\"\"", "blank"},
         {"/messages/1/content/1/toolUse/toolUseId", "\"a b\"", "bad character"},
         {"/messages/1/content/1/toolUse/input", "[]", "no object"},
         {"/messages/2/content/0/toolResult/toolUseId", "\"b\"", "not open"},
         {"/messages/2/content/0/toolResult/content", "[]", "empty"},
         {"/messages/2/content/0/toolResult/status", "\"failed\"", "not known"},
         {"/messages/2/content/0", R"({"text":"x"})", "without a result"},
         {"/inferenceConfig", R"({"maxTokens":0})", "maxTokens"}});
}

}  // namespace
}  // namespace reef::test
