// The parts of the Messages API's codec, one file for each. Pure functions.
#pragma once

#include <memory>

#include "model/codec.h"
#include "model/provider.h"

namespace reef::model::anthropic {

json::object request_body(const Request& request, const ModelFacts& facts);
std::unique_ptr<Decoder> make_decoder(const Request& request);
// Interprets the `error` object of an answer or of an event in mid-stream.
Failure failure_of(const json::object& error, int status);

}  // namespace reef::model::anthropic
