// AWS Signature Version 4: proof that a request comes from who has the secret key. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "model/codec.h"

namespace reef::model::bedrock {

struct AwsKeys {
  std::string id;
  std::string secret;
  std::string session_token;  // of temporary keys
};

// Adds x-amz-date, x-amz-security-token and authorization. Signs the host and every header there
// is, so headers must not change afterwards; more may be added. The path must hold no "." or "..".
void sign(HttpRequest& request, const AwsKeys& keys, std::string_view region,
          std::string_view service, TimePoint now);

}  // namespace reef::model::bedrock
