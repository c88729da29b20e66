// A running child and its keeper, as start() makes them.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/notify.h"
#include "process/keeper/plan.h"
#include "process/process.h"

namespace reef::process {

using Stream = boost::asio::posix::stream_descriptor;

struct Child::State : std::enable_shared_from_this<Child::State> {
  explicit State(Executor loop)
      : input(loop), output(loop), errors(loop), control(loop), changed(loop) {}

  // Waits for the keeper's report that the child has ended.
  void watch();
  // Makes the keeper kill everything, now.
  void end();

  Stream input;
  Stream output;
  Stream errors;
  Stream control;
  int pid = 0;
  std::optional<Exit> exit;
  Notify changed;
  Report report;  // being received
  std::size_t received = 0;
};

}  // namespace reef::process
