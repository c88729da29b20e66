#include "runtime/spent.h"

namespace reef::runtime {

void add(session::Usage& sum, const session::Usage& more) {
  sum.input += more.input;
  sum.output += more.output;
  sum.cache_read += more.cache_read;
  sum.cache_write += more.cache_write;
  sum.estimated = sum.estimated || more.estimated;
  sum.cost.input += more.cost.input;
  sum.cost.output += more.cost.output;
  sum.cost.cache_read += more.cost.cache_read;
  sum.cost.cache_write += more.cost.cache_write;
  sum.cost.total += more.cost.total;
}

void note_spent(session::Draft& draft, const Candidate& candidate, const session::Usage& usage) {
  if (usage.total() <= 0) return;
  session::AssistantMessage as_reply;
  as_reply.usage = usage;
  draft.fields["usage"] = session::to_json(session::Message(std::move(as_reply))).at("usage");
  draft.fields["provider"] = candidate.route.provider_name;
  draft.fields["model"] = candidate.route.model;
}

}  // namespace reef::runtime
