// Table of contents of model/: language models behind one interface.
//
//   provider.h            Provider, Request, Reply, Failure    the interface
//   local/local.h         LocalProvider                        the embedded default: no key, no
//   network scripted/scripted.h   ScriptedProvider                     says what a script says;
//   tests, benches model.h               Providers                            which provider serves
//   which model
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/provider.h"

namespace reef::model {

// The providers of one configuration. Built once, then read only; runs keep the one they started
// with while a reload brings the next.
class Providers {
 public:
  struct Route {
    std::shared_ptr<Provider> provider;
    std::string provider_name;
    std::string model;
  };

  void add(std::string name, std::shared_ptr<Provider> provider);
  // `model` is "provider/model", or the bare name of a provider for its default model.
  Result<Route> route(std::string_view model) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, std::shared_ptr<Provider>, std::less<>> providers_;
};

}  // namespace reef::model
