// What the steps of one turn share. Inside runtime/ only.
#pragma once

#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace reef::runtime {

struct Runtime::Turn {
  Run& run;
  std::shared_ptr<session::Session> session;
  std::string model;  // as it was asked for
  model::Providers::Route route;
  Toolbox toolbox;
  std::string system;
  End end;
};

}  // namespace reef::runtime
