// What every backend must do, and what is needed to ask it: a model that says something, put into
// the backend's wire format by code that was written from the format's description and shares
// nothing with the codecs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "model/codec.h"

namespace reef::test {

// What a model says, whatever the wire.
struct Script {
  struct Text {
    std::vector<std::string> pieces;
  };
  struct Thinking {
    std::vector<std::string> pieces;
    std::string signature;
  };
  struct Call {
    std::string id;
    std::string name;
    std::vector<std::string> argument_pieces;  // of the JSON text
  };
  enum class Stop : std::uint8_t { end, length, tools };

  std::vector<std::variant<Text, Thinking, Call>> blocks;
  Stop stop = Stop::end;
  std::string model = "m-1";
  // As the backend counts: uncached input, all output.
  std::int64_t input = 11, output = 7, cache_read = 5, cache_write = 3, reasoning = 0;
};

struct ErrorCase {
  std::string what;
  int status;
  std::string body;
  model::Failure::Kind kind;
  bool final = false;
  model::Headers headers = {};
};

struct Backend {
  std::string name;
  std::function<std::shared_ptr<const model::Codec>(const std::string& base_url)> codec;
  std::function<std::string(const Script&)> stream;
  // A stream that says `text`, then fails because the service is overloaded.
  std::function<std::string(const std::string& text)> overloaded_after;
  std::vector<ErrorCase> errors;
  // Empty, or why the real service would refuse this body.
  std::function<std::string(const json::value& body)> validate;
  std::string content_type = "text/event-stream";
  std::string path;  // of a call for model "m-1", after the base URL
  std::vector<std::string> models = {"m-1", "m-1-20250101", "other"};  // that are treated apart

  // What the wire can say.
  bool counts_cache_writes = true;
  bool counts_reasoning = false;
  bool has_signatures = true;
  bool has_call_ids = true;
};

// One for each wire format.
std::vector<Backend> backends();

Backend anthropic_backend();
Backend google_backend();
Backend bedrock_backend();

// Feeds the body in these pieces; `heard` gets the deltas, one line each.
model::Outcome decode(const model::Codec& codec, const std::vector<std::string>& pieces,
                      std::string* heard = nullptr);
// An outcome in words, to compare.
std::string describe(const model::Outcome& outcome);

}  // namespace reef::test
