// Interprets errors of OpenAI and of its many imitators. Pure functions.
#pragma once

#include <string_view>

#include "model/codec.h"

namespace reef::model::openai {

// `body` may be anything: JSON of several forms, a proxy's page, nothing.
Failure failure_from_body(int status, std::string_view body);
// For an error object or text inside a stream.
Failure failure_from_stream(const json::value& error);

}  // namespace reef::model::openai
