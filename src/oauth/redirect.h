// Waits on this machine for a browser that returns from a login. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/task.h"

namespace reef::oauth {

class RedirectListener {
 public:
  struct Reply {
    int status = 200;
    std::string text;  // for people
  };
  // Called with the target of a request ("/callback?code=..."); must return at once.
  using Ask = std::function<Reply(std::string target)>;

  // Listens on 127.0.0.1; port 0 picks any free port.
  static Result<std::unique_ptr<RedirectListener>> open(Executor loop, std::uint16_t port, Ask ask);
  virtual ~RedirectListener() = default;
  virtual std::uint16_t port() const = 0;
};

}  // namespace reef::oauth
