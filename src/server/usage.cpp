// Tokens and cost, from the rows alone.

#include "server/usage.h"

#include "server/operations.h"
#include "server/server.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct UsageNeeds {
  session::Sessions& sessions;
  static UsageNeeds of(const Node& node) { return {node.sessions}; }
};

constexpr std::size_t kLinesPerMessage = 1000;

Result<session::UsageQuery> query_from(const protocol::GetUsage& in) {
  session::UsageQuery query;
  REEF_TRY(query.by, session::usage_by_from(in.by()));
  if (!in.after().empty()) {
    REEF_TRY(query.from_day, session::day_from(in.after()));
  }
  if (!in.before().empty()) {
    REEF_TRY(query.before_day, session::day_from(in.before()));
  }
  return query;
}

class UsageStream final : public protocol::MessageStream {
 public:
  explicit UsageStream(session::UsageReport report) : report_(std::move(report)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    protocol::ServerMessage message;
    auto& out = *message.mutable_usage_report();
    const auto end = std::min(at_ + kLinesPerMessage, report_.lines.size());
    for (; at_ < end; ++at_)
      server::fill(*out.add_rows(), report_.lines[at_].name, report_.lines[at_].totals);
    done_ = at_ == report_.lines.size();
    out.set_last(done_);
    if (done_) server::fill(*out.mutable_total(), "total", report_.total);
    co_return message;
  }

 private:
  session::UsageReport report_;
  std::size_t at_ = 0;
  bool done_ = false;
};

protocol::Answer answer_get_usage(UsageNeeds needs, const protocol::GetUsage& request) {
  const auto query = query_from(request);
  if (!query) return protocol::answer_with(query.error());
  const auto all = needs.sessions.list({});
  if (!all) return protocol::answer_with(all.error());
  return std::make_unique<UsageStream>(session::add_up_usage(all->rows, *query));
}

}  // namespace

void fill(protocol::UsageRow& out, const std::string& name, const session::TokenTotals& totals) {
  out.set_name(name);
  out.set_input_tokens(totals.input);
  out.set_output_tokens(totals.output);
  out.set_cache_read_tokens(totals.cache_read);
  out.set_cache_creation_tokens(totals.cache_write);
  out.set_cost_usd(totals.cost);
  out.set_replies(totals.replies);
}

Operations usage_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kGetUsage, Right::read, Messages::many, Naming::none,
       answered<&M::get_usage, answer_get_usage>},
  };
  return kRows;
}

}  // namespace reef::server
