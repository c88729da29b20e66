#include "model/backends.h"

namespace reef::model::test {

std::vector<Backend> all_backends() {
  return {anthropic_messages(), azure_dated(), bedrock_converse(),
          google_gemini(),      openai_chat(), openai_responses()};
}

std::string Backend::say(std::vector<std::string> pieces) const {
  Script script;
  script.blocks = {Script::Text{std::move(pieces)}};
  return stream(script);
}

std::string Backend::calls() const {
  Script script;
  script.blocks = {Script::Text{{"Let me ", "look."}},
                   Script::Call{"c1", "ls", {R"({"pa)", R"(th":"/tmp"})"}},
                   Script::Call{"c2", "read", {R"({"file":"a b","n":3})"}}};
  script.stop = Script::Stop::tools;
  return stream(script);
}

std::string Backend::thinking() const {
  Script script;
  script.blocks = {Script::Thinking{{"Hmm, ", "2+2."}, "c2lnbmVk"}, Script::Text{{"4"}}};
  return stream(script);
}

std::string Backend::length() const {
  Script script;
  script.blocks = {Script::Text{{"cut"}}};
  script.stop = Script::Stop::length;
  return stream(script);
}

}  // namespace reef::model::test
