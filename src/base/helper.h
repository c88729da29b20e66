// A second thread for work of a millisecond. A thread of a pool takes a tenth of that to come, and
// comes when the work is done. This one is called when the work begins, and waits, awake, for the
// parts that can be shared.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

namespace reef {

// One thread calls, shares and dismisses.
class Helper {
 public:
  using Work = std::function<void(std::size_t)>;

  Helper() = default;  // its own thread is started by the first call
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // Wakes the thread, unless there is only one core. The thread sleeps again when it is dismissed,
  // or has had nothing to do for a while.
  void call();
  void dismiss() { wanted_ = false; }

  // Runs here(n) on this thread or there(n) on the other for every n below `count`, each once. Does
  // not wait for the other thread to come: without it, all is done here. An exception of either
  // comes out, and then some may be left out. `first` runs here before. None may wait for anything.
  void share(std::size_t count, const Work& here, const Work& there,
             const std::function<void()>& first = {});

  bool present() const { return awake_; }

 private:
  struct Job;
  void run();     // on the other thread
  void attend();  // likewise
  void take_back(std::uint32_t done_before);
  void keep_off(int core);

  std::atomic<std::uint32_t> calls_ = 0;  // the thread sleeps on it
  std::atomic<bool> wanted_ = false;
  std::atomic<bool> awake_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<Job*> offered_ = nullptr;
  std::atomic<std::uint32_t> done_ = 0;  // jobs it took and finished
  int kept_off_ = -1;
  std::thread thread_;
};

}  // namespace reef
