// compact: makes a summary of what is old in a session.

#include <fmt/format.h>

#include "runtime/compaction.h"
#include "runtime/runtime.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct CompactionsNeeds {
  runtime::Runtime& runtime;
  runtime::Compactions& compactions;
  session::Sessions& sessions;
  static CompactionsNeeds of(const Node& node) {
    return {node.runtime, node.compactions, node.sessions};
  }
};

Result<runtime::Compactions::Request> whom(CompactionsNeeds needs, const protocol::Compact& in) {
  const auto& setup = needs.runtime.setup();
  if (!in.session_id().empty()) {
    REEF_TRY(auto id, known_session(needs.sessions, in.session_id()));
    const auto* row = needs.sessions.find(id);
    REEF_TRY(auto agent, setup.find(row->agent()));
    return runtime::Compactions::Request{std::move(id), std::move(agent),
                                         needs.runtime.shared_setup(), in.instructions()};
  }
  const auto key = in.has_key() ? std::optional(in.key()) : std::nullopt;
  REEF_TRY(auto address, needs.runtime.resolve(in.agent(), in.sender(), key));
  const auto id = needs.sessions.current(address.key);
  if (!id)
    return Error(Errc::not_found,
                 fmt::format("there is no conversation '{}' yet", address.key.text()));
  return runtime::Compactions::Request{*id, std::move(address.agent), needs.runtime.shared_setup(),
                                       in.instructions()};
}

Result<runtime::Compactions::Request> request_from(CompactionsNeeds needs,
                                                   const protocol::Compact& in) {
  REEF_TRY(auto out, whom(needs, in));
  if (in.has_keep()) {
    if (in.keep() < 0) return Error(Errc::invalid, "keep: must not be negative");
    out.keep = in.keep();
  }
  out.automatic = in.automatic();
  return out;
}

Task<protocol::ServerMessage> compact(CompactionsNeeds needs,
                                      runtime::Compactions::Request request) {
  const auto id = request.session;
  const auto done = co_await needs.compactions.compact(std::move(request));
  if (!done) co_return protocol::make_error(done.error());
  protocol::ServerMessage message;
  auto& out = *message.mutable_compact();
  out.set_summary(done->summary);
  out.set_session_id(id.text());
  out.set_tokens_before(done->tokens_before);
  out.set_tokens_after(done->tokens_after);
  out.set_messages(done->messages);
  out.set_archive(done->archive);
  out.set_estimated(true);
  co_return message;
}

protocol::Answer answer_compact(CompactionsNeeds needs, const protocol::Compact& request) {
  auto wanted = request_from(needs, request);
  if (!wanted) return protocol::answer_with(wanted.error());
  return protocol::answer_with(compact(needs, *std::move(wanted)));
}

}  // namespace

Operations compactions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kCompact, Right::admin, Messages::one, Naming::ledger,
       answered<&M::compact, answer_compact>},
  };
  return kRows;
}

}  // namespace reef::server
