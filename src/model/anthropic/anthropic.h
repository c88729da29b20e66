// Anthropic's Messages API, for api.anthropic.com and compatible servers. Loop thread.
#pragma once

#include <string>

#include "model/codec.h"

namespace reef::model {

struct AnthropicOptions {
  std::string base_url = "https://api.anthropic.com";  // with or without /v1
  std::string key;  // an API key, or a subscription's token (sk-ant-oat...)
};

class AnthropicCodec final : public Codec {
 public:
  static constexpr std::string_view kApi = "anthropic-messages";

  explicit AnthropicCodec(AnthropicOptions options);

  std::string_view api() const override { return kApi; }
  HttpRequest encode(const Request& request, const ModelFacts& facts, TimePoint now) const override;
  std::unique_ptr<Decoder> decoder(const Request& request, const ModelFacts& facts) const override;
  Failure failure(int status, const Headers& headers, std::string_view body) const override;
  std::optional<HttpRequest> encode_list(TimePoint now) const override;
  std::vector<ModelFacts> decode_list(std::string_view body) const override;

 private:
  Headers headers() const;

  AnthropicOptions options_;
};

}  // namespace reef::model
