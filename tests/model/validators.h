// Would the real service take this body? Written from the descriptions of the services and from
// what they are known to refuse, not from the codecs. Each returns an empty string, or the reason.
#pragma once

#include <string>

#include "base/json.h"

namespace reef::test {

std::string validate_anthropic(const json::value& body);
std::string validate_openai_chat(const json::value& body);
std::string validate_openai_responses(const json::value& body);
std::string validate_gemini(const json::value& body);
std::string validate_bedrock(const json::value& body);

}  // namespace reef::test
