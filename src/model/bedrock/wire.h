// The parts of the Converse API's codec, one file for each. Pure functions.
#pragma once

#include <memory>

#include "model/codec.h"
#include "model/provider.h"

namespace reef::model::bedrock {

json::object request_body(const Request& request, const ModelFacts& facts);
std::unique_ptr<Decoder> make_decoder(const Request& request);
// Interprets an exception by its name, as in x-amzn-ErrorType or in a frame, and its message.
Failure failure_of(std::string_view exception, std::string_view message, int status);

}  // namespace reef::model::bedrock
