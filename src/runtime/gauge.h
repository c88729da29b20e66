// How full a model's window is. The counts that providers report are the truth; what came after the
// last report is estimated, by an estimator for each model that learns from the reports. Loop
// thread.
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

// Tokens of the window to keep free for what comes next, at most half of it.
std::int64_t reserve_of(const Compaction& settings, std::int64_t window);

double weigh(const model::ToolList& tools);

class Gauge {
 public:
  // Learns what a provider counted for a request; `standing` is the weight of its prompt and tools.
  void learn(const std::string& model, double standing,
             const std::vector<session::MessagePtr>& messages, const session::Usage& usage);

  struct Window {
    std::int64_t window = 0;  // 0: not known
    std::int64_t reserve = 0;
  };
  // Measures the context as it is now. Reports from before a compaction and those of guests are
  // ignored: they counted other contexts.
  ContextUsage measure(const std::string& model, const session::Context& context, double standing,
                       Window window) const;

  std::int64_t estimate(const std::string& model, double weight) const;
  // Mean share by which the estimates for a model were wrong; nothing before its first report.
  std::optional<double> error(const std::string& model) const;

 private:
  std::map<std::string, context::Estimator, std::less<>> estimators_;
};

}  // namespace reef::runtime
