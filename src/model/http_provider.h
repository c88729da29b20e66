// A provider behind HTTP: a codec makes the request and reads the reply; this class moves the
// bytes, retries temporary failures and names the others. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/pool.h"
#include "base/random.h"
#include "http/http.h"
#include "model/codec.h"
#include "model/key.h"
#include "model/model.h"

namespace reef::model {

// All providers of a node share these; they must outlive the providers.
struct HttpNeeds {
  http::Client& client;
  Pool& pool;
  Clock& clock;
  Random& random;
};

struct HttpOptions {
  http::Timeouts timeouts;
  int retries_max = 2;
  std::chrono::milliseconds backoff{100};  // before the first retry; doubles
  // When a backend asks for a longer pause, the call fails at once and the failure tells the pause.
  std::chrono::milliseconds retry_after_max{30'000};
  std::chrono::milliseconds key_patience{15'000};
  Headers headers;      // in addition to the codec's own, or replacing them
  std::string ca_file;  // replaces the system's store
};

using CodecFor = std::function<std::shared_ptr<const Codec>(const std::string& key)>;
using FactsFor = std::function<ModelFacts(std::string_view model)>;

class HttpProvider final : public Provider {
 public:
  // The key is read at the first call; a key from a command is read again when it is refused.
  HttpProvider(HttpNeeds needs, CodecFor codec_for, KeySource key, FactsFor facts_for,
               HttpOptions options);

  std::string_view api() const override { return api_; }
  Task<Outcome> stream(const Request& request, const DeltaSink& sink) override;
  // Returns an empty list when the API has none.
  Task<ModelsOutcome> list_models();

 private:
  Task<Result<std::shared_ptr<const Codec>>> codec();
  Task<Outcome> attempt(const Codec& codec, const Request& request, const ModelFacts& facts,
                        const DeltaSink& sink);
  Task<std::variant<http::Response, Failure>> send(const Codec& codec, HttpRequest request);
  std::chrono::milliseconds pause_before(int retry);

  HttpNeeds needs_;
  CodecFor codec_for_;
  KeySource key_source_;
  FactsFor facts_for_;
  HttpOptions options_;
  std::string api_;
  std::string key_;
  std::shared_ptr<const Codec> codec_;  // set once the key is known
};

// Reads `retry-after-ms` or `retry-after` (seconds or a date).
std::optional<std::chrono::milliseconds> retry_after_of(const Headers& headers, TimePoint now);
// Multiplies tokens by their price; a total that the backend reported is kept.
void price(session::Usage& usage, const session::Cost& price_of_million);

}  // namespace reef::model
