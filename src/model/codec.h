// How one API speaks: a request to bytes, bytes to a reply. A codec does no I/O and no waiting, so
// that every cut of every stream can be tested; HttpProvider moves the bytes. Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/http.h"
#include "model/provider.h"

namespace reef::model {

using http::Headers;
using HttpRequest = http::Request;

// What is known of a model, from the built-in table, config.toml, or a backend's own list.
struct ModelFacts {
  std::string id;
  std::int64_t context_window = 0;  // tokens; 0: not known
  std::int64_t max_output = 0;
  bool images = true;
  bool tools = true;
  bool thinking = false;
  session::Cost price;  // US dollars a million tokens; `total` is not used
};

// One reply as it comes.
class Decoder {
 public:
  virtual ~Decoder() = default;

  // The next bytes of the body, in any cut. A failure ends the reply. `sink` stays until finish().
  virtual std::optional<Failure> take(std::string_view bytes, const DeltaSink& sink) = 0;
  // The reply is complete; what may still come need not be waited for.
  virtual bool done() const = 0;
  // The body has ended, or done(). A body that ended too early is a network Failure.
  virtual Outcome finish() = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual std::string_view api() const = 0;
  // A request that asks for a stream.
  virtual HttpRequest encode(const Request& request, const ModelFacts& facts,
                             TimePoint now) const = 0;
  virtual std::unique_ptr<Decoder> decoder(const Request& request,
                                           const ModelFacts& facts) const = 0;
  // What a status other than 2xx means. `body` may be anything.
  virtual Failure failure(int status, const Headers& headers, std::string_view body) const = 0;
  // The request that lists the models, and what its answer says; none: this API has no list.
  virtual std::optional<HttpRequest> encode_list(TimePoint now) const = 0;
  virtual std::vector<ModelFacts> decode_list(std::string_view body) const = 0;
};

}  // namespace reef::model
