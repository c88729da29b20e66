// The parts of the Gemini API's codec, one file for each. Pure functions.
#pragma once

#include <memory>

#include "model/codec.h"
#include "model/conversation.h"

namespace reef::model::google {

ConversationRules rules();
json::object request_body(const Request& request, const ModelFacts& facts);
std::unique_ptr<Decoder> make_decoder(const Request& request);
// Interprets the `error` object of an answer or of a chunk in mid-stream.
Failure failure_of(const json::object& error, int status);

}  // namespace reef::model::google
