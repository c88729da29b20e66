// Runs shell commands to their end.
#pragma once

#include <boost/asio/io_context.hpp>

#include "process/process.h"

namespace reef::test {

struct Ran {
  process::Exit exit;
  std::string output;
  std::string errors;
};

process::Command shell_command(const std::string& script);

// Everything a stream says until its end.
Task<std::string> all_output(process::Child& child);
Task<std::string> all_errors(process::Child& child);

Ran run_command(boost::asio::io_context& io, process::Command command);

}  // namespace reef::test
