// The backends' lists of models: requested in the background on demand and kept for a while.
// Start-up does not wait for them. Loop thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/notify.h"
#include "base/task_group.h"
#include "model/model.h"

namespace reef::model {

class ModelLists {
 public:
  explicit ModelLists(Executor loop);

  struct List {
    std::vector<ModelFacts> models;
    std::string problem;  // why there is no list
  };

  // Requests lists that are missing or old, waits for them at most `patience`, and returns the
  // lists known by then, by provider name; `only` names one provider, or all when empty.
  Task<std::map<std::string, List>> look(std::shared_ptr<const Providers> providers,
                                         std::string only, std::chrono::milliseconds patience);
  // Call it after a reload, because a name may now mean another provider.
  void forget();
  Task<void> stop();

 private:
  struct Known {
    List list;
    bool asking = false;
    std::uint64_t generation = 0;
    Moment at = {};
    bool answered = false;
  };

  Task<void> ask(std::shared_ptr<const Providers> providers, std::string name,
                 std::uint64_t generation);

  Executor loop_;
  std::map<std::string, Known> known_;
  std::uint64_t generation_ = 0;
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace reef::model
