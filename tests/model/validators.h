// Judges of request bodies, written from the services' descriptions and from what they are known
// to refuse, not from our codecs. Each returns an empty string if the real service would take the
// body, else the reason.
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
