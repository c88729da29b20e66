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
  std::int64_t reported = 0;                    // by the last reply that went well
  std::int64_t since = 0;                       // estimated, of what came after it
  std::optional<std::size_t> reported_at = {};  // its place in the context
};
ContextTokens count(const session::Context& context);

// An estimate for one model that learns from what its provider reports. It starts from how many
// tokens usual tokenizers make of letters, of digits and signs, of ideographs and of other scripts.
class Estimator {
 public:
  std::int64_t estimate(std::string_view text) const;
  // `text` turned out to be `tokens`. Reports on little text say little and are left aside.
  void learn(std::string_view text, std::int64_t tokens);

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
