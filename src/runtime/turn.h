// The steps of one turn share this. Inside runtime/ only.
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
  Conversation& conversation;
  // Null in an ephemeral turn: its messages stand in `scratch`, and are gone with the turn.
  std::shared_ptr<session::Session> session;
  session::SessionId id;
  session::Context scratch = {};
  std::vector<Candidate> chain = {};  // the models to ask, in turn
  std::size_t asked = 0;              // the one that speaks
  std::shared_ptr<const Offer> offer = {};
  std::shared_ptr<const Toolbox> toolbox = {};  // the offer's tools and the client's
  // Lacks only what each step adds; shared with abandoned calls, which only read it.
  std::shared_ptr<model::Request> request = std::make_shared<model::Request>();
  End end = {};
  int steps = 0;
  bool said_something = false;
  bool silent = false;  // the last reply was
  // Words on the way to an answer, shown once it is known that there is one.
  std::vector<std::string> held = {};
  int replies = 0;              // kept and not hidden
  int words = 0;                // messages of the user that it answers
  double standing = 0;          // weight of its prompt and tools
  int rooms_made = 0;           // compactions of a context that was too long
  std::string room_error = {};  // why no room could be made for a context that is too long

  const session::Context& context() const { return session ? session->context() : scratch; }
};

}  // namespace reef::runtime
