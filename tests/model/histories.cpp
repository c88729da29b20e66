#include "model/histories.h"

#include <fmt/format.h>

#include "base/random.h"

namespace reef::test {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const std::vector<std::string>& apis,
            const std::vector<std::string>& models)
      : random_(seed), apis_(apis), models_(models) {}

  model::Request request() {
    model::Request out;
    out.model = model();
    out.system = one_of({"", "You are a crab.", " "});
    std::vector<model::Tool> tools;
    for (auto n = random_.below(4); n > 0; --n)
      tools.push_back(model::Tool{name(), text(), schema()});
    const auto last = tools.empty() ? std::string() : tools.back().name;
    out.tools = std::move(tools);
    if (random_.below(3) == 0) out.tool_choice.mode = model::ToolChoice::Mode::required;
    if (random_.below(3) == 0)
      out.tool_choice = {model::ToolChoice::Mode::named, last.empty() ? name() : last};
    if (random_.below(3) == 0) out.tool_choice.mode = model::ToolChoice::Mode::none;
    if (random_.below(2) == 0) out.max_tokens = static_cast<std::int64_t>(random_.below(3) * 3000);
    for (auto n = random_.below(8); n > 5; --n) out.stop.push_back(one_of({"", " ", "STOP"}));
    out.thinking = static_cast<model::ThinkingLevel>(random_.below(6));
    for (auto n = random_.below(20); n > 0; --n)
      out.messages.push_back(std::make_shared<const session::Message>(message()));
    return out;
  }

 private:
  std::string one_of(std::initializer_list<std::string_view> all) {
    return std::string(all.begin()[random_.below(all.size())]);
  }
  std::string text() {
    return one_of({"", " ", "\n\t", "hello", "What is in ~/notes?", "caf\xc3\xa9 \xf0\x9f\xa6\x80",
                   "half \xf0\x9f", "\"quoted\" \\ back", "</summary>", "a\x01z"});
  }
  std::string id() {
    return one_of({"", "call_0", "call_0", "call_1", "toolu_01A", "fc_1|call_2", "a b c",
                   "\xf0\x9f\xa6\x80",
                   "00000000000000000000000000000000000000000000000000000000000000000000000000000",
                   "chatcmpl-tool-1234567890abcdef1234567890abcdef"});
  }
  std::string name() {
    return one_of(
        {"", "bash", "read_file", "mcp__git__status", "9lives", "a.b", "a_b", "dots.and-dashes",
         "w\xc3\xb6rter",
         "a_very_long_name_that_goes_on_and_on_and_does_not_end_before_the_limit_is_reached"});
  }
  const std::string& model() { return models_[random_.below(models_.size())]; }
  json::object schema() {
    const auto text =
        one_of({"{}", R"({"type":"object"})", R"({"type":"object","properties":{}})",
                R"({"type":"object","properties":{"path":{"type":"string","minLength":1}},
             "required":["path","gone"],"additionalProperties":false})",
                R"({"$schema":"x","type":"object","properties":{"a":{"$ref":"#/$defs/A"}},
             "$defs":{"A":{"type":["string","null"],"enum":["x","",3]}}})",
                R"({"type":"object","properties":{"deep":{"$ref":"#/properties/deep"}}})",
                R"({"type":"object","properties":{"any":{},"map":{"type":"object",
             "additionalProperties":{"type":"number"}},"list":{"type":"array"},
             "n":{"type":"integer","exclusiveMinimum":0,"enum":[1,2]},"t":true,
             "either":{"oneOf":[{"type":"string","const":"x"},{"type":"null"},
             {"type":"array","items":{"type":["integer","string"]}}]},
             "both":{"allOf":[{"type":"object","properties":{"p":{"type":"string",
             "format":"uri"}}},{"required":["p"]}]}}})"});
    auto parsed = json::parse(text);
    return parsed->as_object();
  }

  session::Block image() {
    return session::ImageBlock{one_of({"", "iVBORw0KGgo=", "not base64!", "abc"}),
                               one_of({"image/png", "image/tiff", "", "image/gif"})};
  }
  session::Block block(bool assistant) {
    switch (random_.below(assistant ? 6 : 4)) {
      case 0:
        return image();
      case 1:
        return session::OtherBlock{json::object{{"type", "video"}}};
      case 4:
        return session::ThinkingBlock{text(), one_of({"", "c2ln", "c2ln"}), random_.below(4) == 0};
      case 5: {
        json::object arguments;
        if (random_.below(2) == 0) arguments["path"] = "/tmp/x";
        return session::ToolCallBlock{id(), name(), arguments, one_of({"", "c2ln"})};
      }
      default:
        return session::TextBlock{text(), one_of({"", "c2ln"})};
    }
  }
  std::vector<session::Block> content(bool assistant) {
    std::vector<session::Block> out;
    for (auto n = random_.below(5); n > 0; --n) out.push_back(block(assistant));
    return out;
  }
  session::Message message() {
    switch (random_.below(10)) {
      case 0:
        return session::BashMessage{.command = "ls", .output = text(), .raw = {}};
      case 1:
        return session::CustomMessage{"note", content(false), {}};
      case 2:
        return session::SummaryMessage{};
      case 3:
        return random_.below(3) == 0 ? session::Message(session::OtherMessage{"system", {}})
                                     : session::Message(session::UserMessage{content(false), {}});
      case 4:
      case 5:
      case 6: {
        session::AssistantMessage reply;
        reply.content = content(true);
        reply.api = apis_[random_.below(apis_.size())];
        reply.model = model();
        reply.stop_reason = static_cast<session::StopReason>(random_.below(5));
        return reply;
      }
      case 7:
        return session::UserMessage{content(false), {}};
      default:
        return session::ToolResultMessage{id(), name(), content(false), random_.below(2) == 0, {}};
    }
  }

  SeededRandom random_;
  const std::vector<std::string>& apis_;
  const std::vector<std::string>& models_;
};

}  // namespace

session::MessagePtr user_says(std::string text) {
  session::UserMessage message;
  message.content.push_back(session::TextBlock{std::move(text)});
  return std::make_shared<const session::Message>(std::move(message));
}

session::MessagePtr assistant_says(std::vector<session::Block> content, std::string api,
                                   std::string model) {
  session::AssistantMessage message;
  message.content = std::move(content);
  message.api = std::move(api);
  message.model = std::move(model);
  return std::make_shared<const session::Message>(std::move(message));
}

session::Block calls(std::string id, std::string name, json::object arguments) {
  return session::ToolCallBlock{std::move(id), std::move(name), std::move(arguments)};
}

session::MessagePtr result_of(std::string id, std::string text, bool is_error) {
  session::ToolResultMessage message;
  message.tool_call_id = std::move(id);
  message.content.push_back(session::TextBlock{std::move(text)});
  message.is_error = is_error;
  return std::make_shared<const session::Message>(std::move(message));
}

model::Request random_request(std::uint64_t seed, const std::vector<std::string>& apis,
                              const std::vector<std::string>& models) {
  return Generator(seed, apis, models).request();
}

}  // namespace reef::test
