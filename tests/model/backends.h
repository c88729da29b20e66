// The backends under the two conformance lists (codec_conformance_test.cpp, without a network, and
// provider_conformance_test.cpp, over one): for each, what a model says in its wire format, written
// from the format's description and not from our codecs, and a judge of requests that is as strict
// as the real service. A new backend adds a function here and its line in backends.cpp.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "model/codec.h"
#include "support/fake_http.h"

namespace reef::model::test {

// The words of a model, independent of the wire format.
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
    std::vector<std::string> argument_pieces;  // pieces of the JSON text
  };
  enum class Stop : std::uint8_t { end, length, tools };

  std::vector<std::variant<Text, Thinking, Call>> blocks;
  Stop stop = Stop::end;
  std::string model = "used-model";
  // Input that was neither read from the cache nor written to it; all output.
  std::int64_t input = 7, output = 5, cache_read = 4, cache_write = 0, reasoning = 0;
};

struct Backend {
  std::string name;  // letters only
  std::function<std::shared_ptr<const Codec>(const std::string& base_url, const std::string& key)>
      codec;
  std::string content_type = "text/event-stream";

  // The whole body of an answer.
  std::function<std::string(const Script& script)> stream;
  // A body that says "so far" and then fails in the way `failing_kind` names.
  std::string failing;
  Failure::Kind failing_kind = Failure::Kind::overloaded;

  struct HttpError {
    int status;
    std::string body;
    Failure::Kind kind;
    bool final = false;
    Headers headers = {};
  };
  std::vector<HttpError> errors;  // one of each kind the service has, in its words

  // Judges a request for the model "asked-model" with the key "sk-test": returns an empty string if
  // the service would take it, else the service's complaint.
  std::function<std::string(const reef::test::SeenRequest& request)> judge;
  // Judges a body alone, for any model.
  std::function<std::string(const json::value& body)> validate;
  // Model names that the codec treats differently.
  std::vector<std::string> models = {"m", "m-20250101", "other"};

  // The wire format can carry these.
  bool says_model = true;
  bool counts_cache_writes = false;
  bool counts_reasoning = true;
  bool has_signatures = true;

  std::string say(std::vector<std::string> pieces) const;
  // "Let me look." and two calls at once: ls {"path":"/tmp"} with the id c1 and
  // read {"file":"a b","n":3} with the id c2.
  std::string calls() const;
  // Thinks "Hmm, 2+2." and says "4".
  std::string thinking() const;
  // Says "cut" and stops because the tokens were used up.
  std::string length() const;
};

// Names a test's parameter in the output.
inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

Backend anthropic_messages();
Backend azure_dated();
Backend bedrock_converse();
Backend google_gemini();
Backend openai_chat();
Backend openai_responses();

std::vector<Backend> all_backends();

}  // namespace reef::model::test
