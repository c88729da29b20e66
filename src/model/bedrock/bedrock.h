// Amazon Bedrock's Converse API and its stream. Loop thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/bedrock/sigv4.h"
#include "model/codec.h"

namespace reef::model {

struct BedrockOptions {
  std::string region = "us-east-1";
  std::string base_url;  // empty: AWS in that region
  std::string api_key;   // replaces the AWS keys: sent as it is, nothing is signed
  bedrock::AwsKeys keys;
};

// Returns a variable of the environment; empty when it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// `key` is "ID:SECRET", "ID:SECRET:SESSION_TOKEN", or an API key of Bedrock. If it is empty, the
// variables of AWS's own programs are used (AWS_BEARER_TOKEN_BEDROCK, AWS_ACCESS_KEY_ID and so on);
// an empty `region` is taken from AWS_REGION or AWS_DEFAULT_REGION.
BedrockOptions bedrock_options(std::string_view key, std::string region, std::string base_url,
                               const Environment& environment);

class BedrockCodec final : public Codec {
 public:
  static constexpr std::string_view kApi = "bedrock-converse-stream";

  explicit BedrockCodec(BedrockOptions options);

  std::string_view api() const override { return kApi; }
  HttpRequest encode(const Request& request, const ModelFacts& facts, TimePoint now) const override;
  std::unique_ptr<Decoder> decoder(const Request& request, const ModelFacts& facts) const override;
  Failure failure(int status, const Headers& headers, std::string_view body) const override;
  std::optional<HttpRequest> encode_list(TimePoint now) const override;
  std::vector<ModelFacts> decode_list(std::string_view body) const override;

 private:
  void authorise(HttpRequest& request, TimePoint now) const;

  BedrockOptions options_;
};

}  // namespace reef::model
