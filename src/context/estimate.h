// How many tokens something is. What a provider reports is the truth; between reports, an estimate.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "session/context.h"

namespace reef::context {

// pi's rule, so that both cut a session at the same place: UTF-16 units by four, rounded up.
std::int64_t estimate(const session::Message& message);

struct ContextTokens {
  std::int64_t total = 0;
  std::int64_t reported = 0;  // by the last reply that went well, after a compaction
  std::int64_t since = 0;     // estimated, of what came after it
  std::optional<std::size_t> reported_at = {};  // its place in the context
};
ContextTokens count(const session::Context& context);

// How many tokens usual tokenizers make of letters, of digits and signs, of ideographs and of other
// scripts: what an Estimator starts from.
double weigh(std::string_view text);
// As a model is given it; 0 when it is not.
double weigh(const session::Message& message);

// From weights to the tokens of one model; learns from what its provider reports.
class Estimator {
 public:
  std::int64_t estimate(double weight) const;
  // What weighs this much turned out to be `tokens`. Reports on little say little and are left
  // aside.
  void learn(double weight, std::int64_t tokens);

  double factor() const { return factor_; }
  // Mean of |estimate - report| / report before each lesson; 0 before the first.
  double error() const { return error_; }
  int lessons() const { return lessons_; }

 private:
  double factor_ = 1;
  double error_ = 0;
  int lessons_ = 0;
};

}  // namespace reef::context
