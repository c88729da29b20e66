// What the steps of one turn share. Inside runtime/ only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace reef::runtime {

struct Candidate {
  std::string model;  // as it is configured
  model::Providers::Route route;
};

struct Runtime::Turn {
  Run& run;
  session::Key key;
  std::shared_ptr<session::Session> session;
  std::vector<Candidate> chain;  // the models to ask, in turn
  std::size_t asked = 0;         // which of them speaks
  Toolbox toolbox;
  std::string system;
  End end;
};

}  // namespace reef::runtime
