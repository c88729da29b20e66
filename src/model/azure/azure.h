// OpenAI's APIs on Azure, at other addresses. Pure functions.
#pragma once

#include <string>

#include "base/result.h"
#include "model/openai/openai.h"

namespace reef::model::azure {

struct Settings {
  // The resource's name or address; any address of its API will do, even one that contains a
  // deployment and an api-version.
  std::string base_url;
  // A date selects the dated paths, /openai/deployments/MODEL/...; empty or "v1" selects
  // /openai/v1.
  std::string api_version;
  enum class Auth : std::uint8_t { automatic, api_key, bearer };
  Auth auth = Auth::automatic;  // automatic: bearer if the key looks like an Entra token
};

// A request's model is the name of a deployment.
openai::Endpoint endpoint_at(const Settings& settings, const std::string& key);

}  // namespace reef::model::azure
