// Azure's OpenAI: the same APIs at other addresses. Pure functions.
#pragma once

#include <string>

#include "base/result.h"
#include "model/openai/openai.h"

namespace reef::model::azure {

struct Settings {
  // The resource's name or address; any address of its API will do, also one with a deployment and
  // an api-version in it.
  std::string base_url;
  // A date asks for the dated paths, /openai/deployments/MODEL/...; empty or "v1" for /openai/v1.
  std::string api_version;
  enum class Auth : std::uint8_t { automatic, api_key, bearer };
  Auth auth = Auth::automatic;  // bearer for what looks like an Entra token
};

// The model of a request is the name of a deployment.
openai::Endpoint endpoint_at(const Settings& settings, const std::string& key);

}  // namespace reef::model::azure
