#include <optional>
#include <vector>

#include "model/checking.h"
#include "model/validators.h"

namespace reef::test {
namespace {

struct BedrockCheck {
  Pairs pairs;
  int points = 0;

  void point(const object& in) {
    const auto& cache = object_at(in, "cachePoint");
    require(string_at(cache, "type") == "default", "unknown cachePoint");
    require(++points <= 4, "more than 4 cache points");
  }
  static void image(const object& in) {
    const auto& image = object_at(in, "image");
    one_of(string_at(image, "format"), {"png", "jpeg", "gif", "webp"}, "image format");
    base64_like(string_at(object_at(image, "source"), "bytes"));
  }
  void block(const object& in, bool user, bool first) {
    require(in.size() == 1, "a content block is a union of one member");
    const auto kind = std::string(in.begin()->key());
    if (kind == "text") {
      words_at(in, "text");
    } else if (kind == "image") {
      require(user, "an image of the assistant's");
      image(in);
    } else if (kind == "cachePoint") {
      require(!first, "a cache point before any content");
      point(in);
    } else if (kind == "toolUse") {
      require(!user, "a toolUse of the user's");
      const auto& use = object_at(in, "toolUse");
      only(use, {"toolUseId", "name", "input"});
      const auto id = string_at(use, "toolUseId");
      name_like(id, "_-", 64, "toolUseId");
      pairs.call(id);
      name_like(string_at(use, "name"), "_-", 64, "name");
      object_at(use, "input");
    } else if (kind == "toolResult") {
      require(user, "a toolResult of the assistant's");
      const auto& result = object_at(in, "toolResult");
      only(result, {"toolUseId", "content", "status"});
      pairs.result(string_at(result, "toolUseId"));
      if (result.contains("status"))
        one_of(string_at(result, "status"), {"success", "error"}, "status");
      for (const auto& item : filled_array_at(result, "content")) {
        const auto& part = object_of(item, "content of a result");
        require(part.size() == 1, "a union of one member");
        if (part.contains("image")) {
          image(part);
        } else if (!part.contains("json")) {
          words_at(part, "text");
        }
      }
    } else {
      require(kind == "reasoningContent" && !user, "unknown block");
      const auto& reasoning = object_at(in, "reasoningContent");
      require(reasoning.size() == 1, "a union of one member");
      if (reasoning.contains("redactedContent")) {
        base64_like(string_at(reasoning, "redactedContent"));
      } else {
        const auto& text = object_at(reasoning, "reasoningText");
        string_at(text, "text");
        words_at(text, "signature");
      }
    }
  }
};

void check_bedrock(const object& body) {
  only(body, {"messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig",
              "additionalModelRequestFields", "additionalModelResponseFieldPaths",
              "promptVariables", "requestMetadata", "performanceConfig", "serviceTier"});
  BedrockCheck check;
  if (body.contains("system"))
    for (const auto& item : filled_array_at(body, "system")) {
      const auto& block = object_of(item, "system");
      require(block.size() == 1, "a union of one member");
      if (block.contains("cachePoint")) {
        check.point(block);
      } else {
        words_at(block, "text");
      }
    }
  std::set<std::string> names;
  if (body.contains("toolConfig")) {
    const auto& config = object_at(body, "toolConfig");
    only(config, {"tools", "toolChoice"});
    for (const auto& item : filled_array_at(config, "tools")) {
      const auto& tool = object_of(item, "tool");
      require(tool.size() == 1, "a union of one member");
      if (tool.contains("cachePoint")) {
        check.point(tool);
        continue;
      }
      const auto& spec = object_at(tool, "toolSpec");
      only(spec, {"name", "description", "inputSchema"});
      const auto name = string_at(spec, "name");
      name_like(name, "_-", 64, "tool");
      require(names.insert(name).second, "tool names must be unique");
      if (spec.contains("description")) words_at(spec, "description");
      object_schema(object_at(object_at(spec, "inputSchema"), "json"));
    }
    if (config.contains("toolChoice")) {
      const auto& choice = object_at(config, "toolChoice");
      require(choice.size() == 1, "a union of one member");
      one_of(std::string(choice.begin()->key()), {"auto", "any", "tool"}, "toolChoice");
      if (choice.contains("tool"))
        require(names.contains(string_at(object_at(choice, "tool"), "name")),
                "toolChoice names no tool");
    }
  }
  Roles roles("user", "assistant");
  for (const auto& item : filled_array_at(body, "messages")) {
    const auto& message = object_of(item, "message");
    only(message, {"role", "content"});
    const bool user = roles.next(string_at(message, "role"));
    const auto& content = filled_array_at(message, "content");
    for (std::size_t i = 0; i < content.size(); ++i)
      check.block(object_of(content[i], "block"), user, i == 0);
    check.pairs.end_turn();
    if (!user)
      require(!content.back().as_object().contains("reasoningContent"),
              "the final block of an assistant message cannot be thinking");
  }
  roles.end();
  require(!check.pairs.any() || !names.empty(),
          "the toolConfig field must be defined when using toolUse and toolResult");
  if (body.contains("inferenceConfig")) {
    const auto& config = object_at(body, "inferenceConfig");
    only(config, {"maxTokens", "temperature", "topP", "stopSequences"});
    if (config.contains("maxTokens")) positive_at(config, "maxTokens");
    if (config.contains("stopSequences"))
      for (const auto& words : filled_array_at(config, "stopSequences"))
        require(words.is_string() && !words.as_string().empty(), "an empty stop sequence");
  }
}

}  // namespace

std::string validate_bedrock(const json::value& body) {
  return verdict(body, check_bedrock);
}

}  // namespace reef::test
