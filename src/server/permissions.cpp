// Permissions and plans: what was allowed for good, and what waits to be accepted.

#include "server/permissions.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "organise/changes.h"
#include "process/process.h"
#include "runtime/runtime.h"
#include "server/entrance.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "server/turns.h"
#include "session/attachments.h"
#include "session/session.h"

namespace reef::server {
namespace {

constexpr std::size_t kPlansMax = 200;
constexpr std::uint64_t kPlanBytesMax = 256U << 10;

protocol::ServerMessage list_permissions(PermissionsNeeds needs, const session::Row& row) {
  protocol::ServerMessage message;
  auto& list = *message.mutable_permission_list();
  const auto agent = needs.runtime.setup().find(row.agent());
  const bool local = runtime::is_local(row.sender(), row.key());
  list.set_mode(
      std::string(runtime::name_of(mode_of(agent ? *agent : runtime::Agent(), local, row))));
  for (const auto& grant : runtime::grants_of(row)) {
    auto& permission = *list.add_permissions();
    permission.set_tool(grant.tool);
    permission.set_rule(grant.rule);
    permission.set_granted_at(grant.at);
  }
  list.set_sandbox(process::what_is_missing({.read_only = true, .no_network = true}));
  return message;
}

Task<protocol::ServerMessage> revoke(PermissionsNeeds needs, session::SessionId id,
                                     std::string tool, std::string rule) {
  const auto done =
      co_await needs.runtime.permissions().revoke(id, std::move(tool), std::move(rule));
  if (!done) co_return protocol::make_error(done.error());
  const auto* row = needs.sessions.find(id);
  if (!row) co_return protocol::make_error(session::no_session(id));
  co_return list_permissions(needs, *row);
}

Task<Result<std::string>> read_plan(PermissionsNeeds needs, const session::SessionId& id,
                                    std::string path) {
  REEF_CO_TRY(const auto file, co_await needs.attachments.folders().open(id, path));
  if (file->info().bytes > kPlanBytesMax)
    co_return Error(Errc::too_large, fmt::format("{} has {} bytes; a plan has at most {}", path,
                                                 file->info().bytes, kPlanBytesMax));
  REEF_CO_TRY(const auto bytes, co_await file->read(0, file->info().bytes));
  co_return utf8::sanitize(bytes);
}

Task<protocol::ServerMessage> list_plans(PermissionsNeeds needs, session::SessionId id) {
  auto page = co_await needs.attachments.folders().list(id, "plans", kPlansMax, "");
  if (!page) co_return protocol::make_error(page.error());
  protocol::ServerMessage message;
  auto& list = *message.mutable_plan_list();
  for (const auto& file : page->files) {
    std::string_view name = file.path;
    name.remove_prefix(std::min<std::size_t>(name.size(), 6));  // plans/
    if (!name.ends_with(".md") || name.find('/') != std::string_view::npos) continue;
    auto content = co_await read_plan(needs, id, file.path);
    auto& plan = *list.add_plans();
    plan.set_name(std::string(name.substr(0, name.size() - 3)));
    plan.set_content(content ? *std::move(content) : content.error().what);
    plan.set_changed_at(format_iso(file.modified));
  }
  co_return message;
}

}  // namespace

PermissionsNeeds PermissionsNeeds::of(const Node& node) {
  return {node.runtime, node.sessions, node.attachments, node.changes, TurnsNeeds::of(node)};
}

Task<Result<protocol::Stream>> begin_plan(PermissionsNeeds needs, session::SessionId id,
                                          protocol::AcceptPlan request) {
  const auto mode = request.mode().empty() ? "ask" : request.mode();
  if (mode != "ask" && mode != "allow-all")
    co_return Error(Errc::invalid, "the mode of a plan must be ask or allow-all");
  auto name = request.name();
  if (name.ends_with(".md")) name.resize(name.size() - 3);
  auto content = co_await read_plan(needs, id, "plans/" + name + ".md");
  if (!content) co_return std::move(content).error().with("plan '" + utf8::excerpt(name) + "'");

  const auto* row = needs.sessions.find(id);
  if (!row) co_return session::no_session(id);
  std::optional<session::Key> key;
  if (auto own = session::Key::parse(row->key()); own && needs.sessions.current(*own) == id)
    key = *std::move(own);
  if (!key) {
    REEF_CO_TRY(auto bound, co_await needs.sessions.resume(id, std::nullopt));
    key = std::move(bound);
  }
  organise::Change change;
  change.patch["permissionMode"] = mode;
  const auto changed =
      co_await needs.changes.apply(id, std::move(change), organise::Changes::Same::skip);
  if (!changed) co_return changed.error();
  row = needs.sessions.find(id);
  if (!row) co_return session::no_session(id);
  protocol::Stream turn;
  turn.set_agent(std::string(row->agent()));
  turn.set_sender(std::string(row->sender()));
  turn.set_key(key->text());
  // The plan was made where the session began, unless the session was told to work elsewhere.
  const auto set = std::string(row->text("workingDirectory"));
  const auto folder = set.empty() ? row->cwd : set;
  if (co_await needs.turns.entrance.check_folder("cwd", folder)) turn.set_cwd(folder);
  turn.set_content(
      fmt::format("I accept the plan '{}'. Carry it out.\n\n<plan name=\"{}\">\n{}\n</plan>", name,
                  name, *content));
  co_return turn;
}

namespace {

// Whoever accepts it in this way has answered what was asked about it.
Task<void> answer_decision(PermissionsNeeds needs, session::SessionId id, std::string plan,
                           std::string mode, protocol::Peer peer) {
  if (plan.ends_with(".md")) plan.resize(plan.size() - 3);
  const auto* row = needs.sessions.find(id);
  std::string decision;
  for (const auto& one : row ? row->waiting : std::vector<session::Waiting>())
    if (one.kind == runtime::name_of(runtime::Ask::Kind::plan) && one.about == plan)
      decision = one.id;
  if (decision.empty()) co_return;
  const auto done = co_await needs.runtime.decisions().answer(
      {decision, mode == "allow-all" ? "Accept, allow all" : "Accept", peer.sender,
       std::string(name_of(peer.via))});
  if (!done) log::warn("decision {}: {}", decision, done.error().what);
}

class PlanStream final : public protocol::MessageStream {
 public:
  PlanStream(PermissionsNeeds needs, session::SessionId id, protocol::AcceptPlan request,
             std::string client_id, protocol::Peer peer)
      : needs_(needs),
        id_(std::move(id)),
        request_(std::move(request)),
        client_id_(std::move(client_id)),
        peer_(std::move(peer)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (failed_) co_return std::nullopt;
    if (!turn_) {
      const auto begun = co_await shielded(begin_plan(needs_, id_, request_));
      if (!begun) {
        failed_ = true;
        co_return protocol::make_error(begun.error());
      }
      co_await answer_decision(needs_, id_, request_.name(), request_.mode(), peer_);
      turn_ = answer_stream(needs_.turns, *begun, {}, client_id_);
    }
    co_return co_await turn_->next();
  }

 private:
  PermissionsNeeds needs_;
  session::SessionId id_;
  protocol::AcceptPlan request_;
  std::string client_id_;
  protocol::Peer peer_;
  protocol::Answer turn_;
  bool failed_ = false;
};

protocol::Answer answer_list_permissions(PermissionsNeeds needs,
                                         const protocol::ListPermissions& request) {
  const auto id = known_session(needs.sessions, request.session_id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(list_permissions(needs, *needs.sessions.find(*id)));
}

protocol::Answer answer_revoke_permission(PermissionsNeeds needs,
                                          const protocol::RevokePermission& request) {
  auto id = known_session(needs.sessions, request.session_id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(revoke(needs, *std::move(id), request.tool(), request.rule()));
}

protocol::Answer answer_list_plans(PermissionsNeeds needs, const protocol::ListPlans& request) {
  auto id = known_session(needs.sessions, request.session_id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(list_plans(needs, *std::move(id)));
}

protocol::Answer answer_accept_plan(const Asked& asked) {
  const auto& request = asked.message.accept_plan();
  const PermissionsNeeds needs = asked.needs();
  auto id = known_session(needs.sessions, request.session_id());
  if (!id) return protocol::answer_with(id.error());
  return std::make_unique<PlanStream>(needs, *std::move(id), request, asked.message.client_id(),
                                      asked.peer);
}

}  // namespace

Operations permissions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListPermissions, Right::read, Messages::one, Naming::none,
       answered<&M::list_permissions, answer_list_permissions>},
      {M::kRevokePermission, Right::admin, Messages::one, Naming::ledger,
       answered<&M::revoke_permission, answer_revoke_permission>},
      {M::kListPlans, Right::read, Messages::one, Naming::none,
       answered<&M::list_plans, answer_list_plans>},
      {M::kAcceptPlan, Right::admin, Messages::many, Naming::transcript, answer_accept_plan},
  };
  return kRows;
}

}  // namespace reef::server
