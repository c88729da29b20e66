// How full a model's window is. What providers report is the truth; what came since the last report
// is estimated, by an estimator of each model's own that learns from those reports. Loop thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "context/estimate.h"
#include "model/provider.h"
#include "runtime/agent.h"
#include "runtime/event.h"
#include "session/context.h"

namespace reef::runtime {

// Of the window, kept free for what comes next; a small window cannot hold back the usual reserve.
std::int64_t reserve_of(const Compaction& settings, std::int64_t window);

// What stands in every request of an agent: its prompt and its tools.
double weigh_standing(const model::Request& request);

class Gauge {
 public:
  // What a provider counted of a request, and of nothing else.
  void learn(const std::string& model, const model::Request& request, const session::Usage& usage);

  struct Window {
    std::int64_t window = 0;  // 0: not known
    std::int64_t reserve = 0;
  };
  // Of the context as it is now. Reports from before a compaction count a context that is gone,
  // those of guests another one.
  ContextUsage measure(const std::string& model, const session::Context& context, double standing,
                       Window window) const;

  std::int64_t estimate(const std::string& model, double weight) const;
  // Share the estimates of a model were off by, in the mean; nothing before its first report.
  std::optional<double> error(const std::string& model) const;

 private:
  std::map<std::string, context::Estimator, std::less<>> estimators_;
};

}  // namespace reef::runtime
