// The embedded default provider: no key, no network, no model. It answers from what is written
// down: in the conversation it is given, and, where it is given the tools, in earlier ones
// (search_sessions) and in memory (recall, remember, forget), which it calls as any model would. It
// quotes, says where from, and is deterministic.
//
//   intent.h    what a message asks for
//   words.h     words as search sees them
//   found.h     what the tools answered
//   notes.h     names of notes, and which one is meant
//   extract.h   summaries and titles
#pragma once

#include "model/provider.h"

namespace reef::model {

class LocalProvider final : public Provider {
 public:
  static constexpr std::string_view kApi = "reef-local";
  std::string_view api() const override { return kApi; }
  Task<Outcome> stream(const Request& request, const DeltaSink& sink) override;
};

// What it says next; a pure function of the conversation and the tools. Tool calls, or the answer.
struct LocalReply {
  std::string text;
  std::vector<session::ToolCallBlock> calls;
};
LocalReply local_reply(const Request& request);

}  // namespace reef::model
