// A second pair of hands for work of a millisecond. Waking a thread takes a tenth of that, so it is
// called when the work begins and waits, awake, for the parts that can be shared.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/pool.h"

namespace reef {

class Helper {
 public:
  using Work = std::function<void(std::size_t)>;

  // Calls a thread of the pool; where there is only one core nobody comes.
  explicit Helper(Pool& pool);
  // Nobody touches anything of the work afterwards.
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // Runs here(n) on this thread or there(n) on the other for every n below `count`, each once.
  // Nobody is waited for who has not come: then all is done here. After an exception of either,
  // which comes out, some may be left out. `first` runs here before. One at a time; none may wait
  // for anything.
  void share(std::size_t count, const Work& here, const Work& there,
             const std::function<void()>& first = {});

  // Whether somebody is here now.
  bool present() const;

 private:
  struct State;
  void call();

  Pool& pool_;
  std::shared_ptr<State> state_;
};

}  // namespace reef
