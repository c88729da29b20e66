#include "model/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reef::model {

void Providers::add(std::string name, std::shared_ptr<Provider> provider) {
  providers_.insert_or_assign(std::move(name), std::move(provider));
}

Result<Providers::Route> Providers::route(std::string_view model) const {
  const auto slash = model.find('/');
  const auto name = model.substr(0, slash);
  const auto found = providers_.find(name);
  if (found == providers_.end())
    return Error(Errc::not_found, fmt::format("no provider for model '{}'; there are: {}", model,
                                              fmt::join(names(), ", ")));
  const auto rest = slash == std::string_view::npos ? name : model.substr(slash + 1);
  return Route{found->second, std::string(name), std::string(rest)};
}

std::vector<std::string> Providers::names() const {
  std::vector<std::string> out;
  for (const auto& [name, provider] : providers_) out.push_back(name);
  return out;
}

}  // namespace reef::model
