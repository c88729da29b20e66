// The operations on models call these functions of the daemon. A change that returns Ok is written
// and in force.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "model/model_lists.h"
#include "model/registry.h"

namespace reef::server {

struct Models {
  std::function<std::shared_ptr<const model::Providers>()> providers;
  std::function<std::string()> default_model;
  model::ModelLists* lists = nullptr;
  std::function<Result<model::Providers::Entry>(const model::ProviderSpec&)> make;
  std::function<Task<Status>(std::string model)> set_default;
  std::function<Task<Status>(model::ProviderSpec spec, bool make_default)> save;
  std::function<Task<Status>(std::string name)> remove;
};

}  // namespace reef::server
