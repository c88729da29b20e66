// A folder tree, sockets and a process that show whether anybody touched them.
#pragma once

#include <map>

#include <boost/asio/io_context.hpp>

#include "base/files.h"
#include "process/process.h"
#include "support/temp_dir.h"

namespace reef::test {

class Canary {
 public:
  explicit Canary(boost::asio::io_context& io);

  // How a command ended.
  struct Outcome {
    int code = 0;
    std::string output;
  };
  // Runs the command in the tree's `work` folder, with @PORT@ and the like replaced. With `to_end`
  // it waits for all output, also that of processes left in the background.
  Outcome run(std::string command, std::optional<process::Sandbox> sandbox, bool to_end = false);

  // Names everything that was touched since the tree was made or restored; empty when nothing was.
  std::string touched();
  // The same, but waits a moment for a touch that is expected.
  std::string touched_soon();
  void restore();

 private:
  void make_tree();
  using State = std::map<std::string, std::string>;
  State state();
  State files() const;
  Task<void> run_task(process::Command command, bool to_end, Outcome& outcome);

  boost::asio::io_context& io_;
  TempDir dir_;
  Fd tcp_;
  Fd stream_;
  Fd datagrams_;
  int port_ = 0;
  std::unique_ptr<process::Child> victim_;
  State before_;
};

}  // namespace reef::test
