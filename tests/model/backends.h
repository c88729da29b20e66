// The backends under the conformance list (provider_conformance_test.cpp): for each, streams in its
// wire format, written from the format's description and not from our codecs, and a judge of
// requests that is as strict as the real service. A new backend adds a function here and its line
// in backends.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/codec.h"
#include "support/fake_http.h"

namespace reef::model::test {

struct Backend {
  std::string name;  // letters only
  std::function<std::shared_ptr<const Codec>(const std::string& base_url, const std::string& key)>
      codec;
  std::string content_type = "text/event-stream";

  // Says these pieces as text and ends well. Usage: 7 tokens of input that were not cached, 4 read
  // from the cache, 5 of output. The model that answered is "used-model".
  std::function<std::string(const std::vector<std::string>& pieces)> say;
  // "Let me look." and two calls at once: ls {"path":"/tmp"} with the id c1 and
  // read {"file":"a b","n":3} with the id c2.
  std::string calls;
  // Thinks "Hmm, 2+2." and says "4".
  std::string thinking;
  // Says "cut" and stops because the tokens were used up.
  std::string length;
  // Says "so far"; then the backend is overloaded, or fails.
  std::string failing;
  Failure::Kind failing_kind = Failure::Kind::overloaded;

  struct HttpError {
    int status;
    std::string body;
    Failure::Kind kind;
  };
  std::vector<HttpError> errors;  // as the service words them; one of each kind it has

  // Empty when the service would take the request, else what it would say.
  std::function<std::string(const reef::test::SeenRequest& request)> judge;
};

Backend openai_chat();
Backend openai_responses();
Backend azure_dated();

std::vector<Backend> all_backends();

}  // namespace reef::model::test
