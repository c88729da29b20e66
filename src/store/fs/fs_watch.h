// Tells of changes below a folder of a home, by inotify. Loop thread only.
#pragma once

#include <memory>

#include "session/documents.h"

namespace reef::store {

class FsWatch final : public session::Documents::Watch {
 public:
  // `folder` is relative to the home, "" the home itself; it need not be there yet. `what` is a
  // document directly in it or, with a slash at the end, the folder and all below.
  static Result<std::unique_ptr<session::Documents::Watch>> begin(
      Executor loop, std::string home, std::string folder, std::string what,
      session::Documents::Changed changed);
  ~FsWatch() override;

 private:
  struct State;
  explicit FsWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace reef::store
