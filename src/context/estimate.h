// Counts tokens. A provider's report is the truth; between reports there is an estimate.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "session/context.h"

namespace reef::context {

// pi's rule, so that both cut a session at the same place: a quarter of the UTF-16 units, rounded
// up.
std::int64_t estimate(const session::Message& message);

struct ContextTokens {
  std::int64_t total = 0;
  std::int64_t reported = 0;                    // by the last good reply after a compaction
  std::int64_t since = 0;                       // estimate for everything after that reply
  std::optional<std::size_t> reported_at = {};  // index of that reply in the context
};
ContextTokens count(const session::Context& context);

// A first guess at tokens, on which an Estimator builds: how many tokens usual tokenizers make of
// letters, of digits and signs, of ideographs and of other scripts.
double weigh(std::string_view text);
// Weighs a message as the model sees it; 0 when it does not.
double weigh(const session::Message& message);

// Converts weights to the tokens of one model and learns from what its provider reports.
class Estimator {
 public:
  std::int64_t estimate(double weight) const;
  // A text of this weight turned out to have `tokens`. Reports on short texts say little and are
  // ignored.
  void learn(double weight, std::int64_t tokens);

  double factor() const { return factor_; }
  // Mean of |estimate - report| / report before each lesson; 0 before the first lesson.
  double error() const { return error_; }
  int lessons() const { return lessons_; }

 private:
  double factor_ = 1;
  double error_ = 0;
  int lessons_ = 0;
};

}  // namespace reef::context
