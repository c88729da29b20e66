#include "model/model.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"

namespace reef::model {

void Providers::add(std::string name, std::shared_ptr<Provider> provider) {
  Entry entry;
  entry.name = name;
  entry.kind = name;
  entry.provider = std::move(provider);
  entry.default_model = name;
  entry.key_place = "none";
  entries_.insert_or_assign(std::move(name), std::move(entry));
}

Status Providers::add(Entry entry) {
  if (entry.name.empty() || entry.name.find('/') != std::string::npos)
    return Error(Errc::invalid, fmt::format("'{}' cannot be the name of a provider: a slash parts "
                                            "it from its models",
                                            utf8::excerpt(entry.name)));
  for (const auto& model : entry.models) {
    if (std::count(entry.models.begin(), entry.models.end(), model) > 1)
      return Error(Errc::conflict, fmt::format("model '{}' is named twice", utf8::excerpt(model)));
    for (const auto& [name, other] : entries_)
      if (name != entry.name &&
          std::find(other.models.begin(), other.models.end(), model) != other.models.end())
        return Error(
            Errc::conflict,
            fmt::format("model '{}' is named by provider '{}' as well; leave it out of one "
                        "list, '{}/{}' works without",
                        utf8::excerpt(model), name, entry.name, utf8::excerpt(model)));
  }
  auto name = entry.name;
  entries_.insert_or_assign(std::move(name), std::move(entry));
  return Ok{};
}

const Providers::Entry* Providers::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

Result<Providers::Route> Providers::route(std::string_view model) const {
  const auto make = [](const Entry& entry, std::string_view name) {
    Route route{entry.provider, entry.name, std::string(name)};
    if (entry.facts) route.facts = entry.facts(name);
    route.facts.id = name;
    return route;
  };
  const auto slash = model.find('/');
  if (const auto* entry = find(model.substr(0, slash))) {
    const auto name =
        slash == std::string_view::npos ? entry->default_model : model.substr(slash + 1);
    if (name.empty())
      return Error(Errc::invalid,
                   fmt::format("provider '{0}' has no default model; name one: {0}/MODEL "
                               "(`reef models {0}` lists them)",
                               entry->name));
    return make(*entry, name);
  }
  for (const auto& [name, entry] : entries_)
    if (std::find(entry.models.begin(), entry.models.end(), model) != entry.models.end())
      return make(entry, model);
  return Error(Errc::not_found, fmt::format("no provider for model '{}'; there are: {}",
                                            utf8::excerpt(model), fmt::join(names(), ", ")));
}

std::vector<std::string> Providers::names() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) out.push_back(name);
  return out;
}

bool calls_for_fallback(const Failure& failure) {
  return failure.kind == Failure::Kind::auth || failure.kind == Failure::Kind::rate_limit ||
         is_transient(failure);
}

}  // namespace reef::model
