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

  // The command in the tree's `work` folder, with @PORT@ and its like replaced. Returns its code.
  struct Outcome {
    int code = 0;
    std::string output;
  };
  // `to_end`: with all of its output, also of what it left in the background.
  Outcome run(std::string command, std::optional<process::Sandbox> sandbox, bool to_end = false);

  // Everything that was touched since it was made or restored; empty: nothing.
  std::string touched();
  // The same, with some patience for what must have been.
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
