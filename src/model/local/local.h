// The embedded default provider: no key, no network, no model. It answers from the conversation it
// is given, in plain words, says what it is, and is deterministic.
#pragma once

#include "model/provider.h"

namespace reef::model {

class LocalProvider final : public Provider {
 public:
  std::string_view api() const override { return "reef-local"; }
  Task<Outcome> stream(const Request& request, const DeltaSink& sink) override;
};

// The answer itself; a pure function of the conversation.
std::string local_answer(const std::vector<session::MessagePtr>& messages);

}  // namespace reef::model
