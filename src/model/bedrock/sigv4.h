// AWS Signature Version 4: proves that a request comes from the owner of the secret key. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "model/codec.h"

namespace reef::model::bedrock {

struct AwsKeys {
  std::string id;
  std::string secret;
  std::string session_token;  // only for temporary keys
};

// Adds x-amz-date, x-amz-security-token and authorization. Signs the host and all present headers,
// which must not change afterwards; more may be added. The path must not contain "." or "..".
void sign(HttpRequest& request, const AwsKeys& keys, std::string_view region,
          std::string_view service, TimePoint now);

}  // namespace reef::model::bedrock
