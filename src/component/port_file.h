// run/NAME.port holds the decimal port a component answers on and, in a second line, the token it
// expects. Only its owner can read it (0600). It is replaced as a whole and removed at the end,
// unless another process has written its own by then.
#pragma once

#include <cstdint>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace reef::component {

class PortFile {
 public:
  static Result<PortFile> write(Files& files, const std::string& home, const std::string& name,
                                std::uint16_t port, const std::string& token);
  PortFile(PortFile&& other) noexcept;
  PortFile& operator=(PortFile&&) = delete;
  ~PortFile();

 private:
  PortFile(Files& files, std::string path, std::string text);

  Files* files_;
  std::string path_, text_;
};

}  // namespace reef::component
