// The built-in default provider: no key, no network, no model. It answers from existing texts: from
// the conversation and, if it gets the tools, from earlier ones (search_sessions) and from memory
// (recall, remember, forget), which it calls as any model would. It quotes, names its sources, and
// is deterministic.
//
//   intent.h    what a message asks for
//   words.h     words as the search treats them
//   found.h     parsing the answers of tools
//   notes.h     names of notes, and which note is meant
//   extract.h   summaries and titles
#pragma once

#include "model/provider.h"

namespace reef::local {

class LocalProvider final : public model::Provider {
 public:
  static constexpr std::string_view kApi = "reef-local";
  std::string_view api() const override { return kApi; }
  bool is_language_model() const override { return false; }
  Task<model::Outcome> stream(const model::Request& request, const model::DeltaSink& sink) override;
};

// Returns the tool calls or the answer that come next; a pure function of the conversation and
// tools.
struct LocalReply {
  std::string text;
  std::vector<session::ToolCallBlock> calls;
};
LocalReply local_reply(const model::Request& request);

}  // namespace reef::local
