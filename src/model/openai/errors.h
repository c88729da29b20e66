// What OpenAI's errors, and those of its many likenesses, mean. Pure functions.
#pragma once

#include <string_view>

#include "model/codec.h"

namespace reef::model::openai {

// `body` may be anything: JSON of several shapes, a proxy's page, nothing.
Failure failure_from_body(int status, std::string_view body);
// An error object, or words, that came inside a stream.
Failure failure_from_stream(const json::value& error);

}  // namespace reef::model::openai
