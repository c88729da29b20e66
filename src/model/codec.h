// Translates for one API: a request to bytes, bytes to a reply. A codec does no I/O and does not
// wait, so that every cut of every stream can be tested; HttpProvider moves the bytes. Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/http.h"
#include "model/facts.h"
#include "model/provider.h"

namespace reef::model {

using http::Headers;
using HttpRequest = http::Request;

// Decodes one reply as it arrives.
class Decoder {
 public:
  virtual ~Decoder() = default;

  // Takes the next bytes of the body, cut anywhere. A failure ends the reply. `sink` must live
  // until finish().
  virtual std::optional<Failure> take(std::string_view bytes, const DeltaSink& sink) = 0;
  // True when the reply is complete, so that the rest of the body need not be awaited.
  virtual bool done() const = 0;
  // Call it when the body has ended or done() is true. A body that ended too early is a network
  // Failure.
  virtual Outcome finish() = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual std::string_view api() const = 0;
  // Makes a request for a streamed reply.
  virtual HttpRequest encode(const Request& request, const ModelFacts& facts,
                             TimePoint now) const = 0;
  virtual std::unique_ptr<Decoder> decoder(const Request& request,
                                           const ModelFacts& facts) const = 0;
  // Interprets a status other than 2xx. `body` may be anything.
  virtual Failure failure(int status, const Headers& headers, std::string_view body) const = 0;
  // Makes the request that lists the models; nullopt when this API has no list. decode_list reads
  // the answer.
  virtual std::optional<HttpRequest> encode_list(TimePoint now) const = 0;
  virtual std::vector<ModelFacts> decode_list(std::string_view body) const = 0;
};

}  // namespace reef::model
