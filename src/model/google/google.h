// Google's Gemini API (generateContent and its stream). Loop thread.
#pragma once

#include <string>

#include "model/codec.h"

namespace reef::model {

struct GoogleOptions {
  std::string base_url = "https://generativelanguage.googleapis.com";  // with or without a version
  std::string key;
};

class GoogleCodec final : public Codec {
 public:
  static constexpr std::string_view kApi = "google-generative-ai";

  explicit GoogleCodec(GoogleOptions options);

  std::string_view api() const override { return kApi; }
  HttpRequest encode(const Request& request, const ModelFacts& facts, TimePoint now) const override;
  std::unique_ptr<Decoder> decoder(const Request& request, const ModelFacts& facts) const override;
  Failure failure(int status, const Headers& headers, std::string_view body) const override;
  std::optional<HttpRequest> encode_list(TimePoint now) const override;
  std::vector<ModelFacts> decode_list(std::string_view body) const override;

 private:
  Headers headers() const;

  GoogleOptions options_;
};

}  // namespace reef::model
