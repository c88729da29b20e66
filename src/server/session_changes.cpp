// Sessions: new, resume, fork, rewind, patch, label, trash, restore, check.

#include "organise/changes.h"
#include "organise/definitions.h"
#include "runtime/compaction.h"
#include "runtime/runtime.h"
#include "server/bulk.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct SessionChangesNeeds {
  runtime::Runtime& runtime;
  runtime::Compactions& compactions;
  session::Sessions& sessions;
  organise::Changes& changes;
  organise::Definitions& definitions;
  static SessionChangesNeeds of(const Node& node) {
    return {node.runtime, node.compactions, node.sessions, node.changes, node.definitions};
  }
};

// The session a request of this name has made already: a crash came before it was answered. `key`:
// the one it was bound to then; empty: none.
Result<std::optional<session::SessionId>> made_before(
    SessionChangesNeeds needs, const std::string& key,
    const std::optional<session::ClientMark>& mark) {
  std::optional<session::SessionId> found;
  bool other = false;
  for (const auto& id : mark ? needs.sessions.marked(key) : std::vector<session::SessionId>()) {
    const auto* row = needs.sessions.find(id);
    if (!row) continue;
    const auto made = session::is_made_for(row->text("madeFor"), *mark);
    if (made == session::Made::same) found = id;
    other = other || made == session::Made::other;
  }
  if (!found && other) return Error(Errc::conflict, "client_id was used for another request");
  return found;
}

std::string made_for(const std::optional<session::ClientMark>& mark) {
  return mark ? session::made_for(*mark) : std::string();
}

Task<protocol::ServerMessage> new_session(SessionChangesNeeds needs, protocol::NewSession request,
                                          std::optional<session::ClientMark> mark) {
  std::optional<std::string> key;
  if (request.has_key()) key = request.key();
  auto address = needs.runtime.resolve(request.agent(), request.sender(), key);
  if (!address) co_return protocol::make_error(address.error());
  const auto before = made_before(needs, address->key.text(), mark);
  if (!before) co_return protocol::make_error(before.error());
  if (*before) co_return session_info(needs.sessions, needs.definitions, **before);
  session::Sessions::New fresh{address->key, address->agent.name, address->sender, request.cwd(),
                               {},           request.cwd(),       made_for(mark)};
  const auto made = co_await needs.sessions.create(std::move(fresh));
  if (!made) co_return protocol::make_error(made.error());
  co_return session_info(needs.sessions, needs.definitions, (*made)->id());
}

Task<protocol::ServerMessage> resume_session(SessionChangesNeeds needs, session::SessionId id,
                                             std::optional<std::string> key) {
  std::optional<session::Key> wanted;
  if (key) {
    auto parsed = session::Key::parse(*key);
    if (!parsed) co_return protocol::make_error(parsed.error());
    wanted = *std::move(parsed);
  }
  const auto bound = co_await needs.sessions.resume(id, std::move(wanted));
  if (!bound) co_return protocol::make_error(bound.error());
  co_return session_info(needs.sessions, needs.definitions, id);
}

Task<protocol::ServerMessage> fork_session(SessionChangesNeeds needs, session::SessionId id,
                                           std::string at,
                                           std::optional<session::ClientMark> mark) {
  const auto before = made_before(needs, "", mark);
  if (!before) co_return protocol::make_error(before.error());
  if (*before) co_return session_info(needs.sessions, needs.definitions, **before);
  std::optional<session::EntryId> entry;
  if (!at.empty()) entry = session::EntryId{std::move(at)};
  const auto made = co_await needs.sessions.fork(std::move(id), std::move(entry), made_for(mark));
  if (!made) co_return protocol::make_error(made.error());
  co_return session_info(needs.sessions, needs.definitions, *made);
}

Task<protocol::ServerMessage> rewind_session(SessionChangesNeeds needs, session::SessionId id,
                                             protocol::RewindSession request) {
  session::EntryId entry{request.entry()};
  if (!request.summarize()) {
    const auto done = co_await needs.sessions.rewind(id, std::move(entry));
    if (!done) co_return protocol::make_error(done.error());
    co_return session_info(needs.sessions, needs.definitions, id);
  }
  const auto* row = needs.sessions.find(id);
  auto agent = needs.runtime.setup().find(row ? row->agent() : std::string_view());
  if (!agent) co_return protocol::make_error(agent.error());
  runtime::Compactions::Request wanted{id, *std::move(agent), needs.runtime.shared_setup(),
                                       request.instructions()};
  const auto done = co_await needs.compactions.rewind(std::move(wanted), std::move(entry));
  if (!done) co_return protocol::make_error(done.error());
  co_return session_info(needs.sessions, needs.definitions, id);
}

Task<protocol::ServerMessage> patch_session(SessionChangesNeeds needs, session::SessionId id,
                                            protocol::PatchSession request) {
  auto change = change_from(request.patch(), request.add_labels(), request.remove_labels());
  if (!change) co_return protocol::make_error(change.error());
  const auto done =
      co_await needs.changes.apply(id, *std::move(change), organise::Changes::Same::write);
  if (!done) co_return protocol::make_error(done.error());
  co_return session_info(needs.sessions, needs.definitions, id);
}

Task<protocol::ServerMessage> label_entry(SessionChangesNeeds needs, session::SessionId id,
                                          std::string entry, std::string label) {
  const auto done =
      co_await needs.sessions.label(id, session::EntryId{std::move(entry)}, std::move(label));
  if (!done) co_return protocol::make_error(done.error());
  co_return session_info(needs.sessions, needs.definitions, id);
}

Task<protocol::ServerMessage> trash_session(SessionChangesNeeds needs, session::SessionId id) {
  co_return protocol::make_outcome(co_await needs.sessions.trash(std::move(id)));
}

Task<protocol::ServerMessage> restore_session(SessionChangesNeeds needs, session::SessionId id) {
  co_return protocol::make_outcome(co_await needs.sessions.restore(std::move(id)));
}

// Checks one session after the other and sends its problems as they are found.
class CheckStream final : public protocol::MessageStream {
 public:
  CheckStream(SessionChangesNeeds needs, bool repair) : needs_(needs), repair_(repair) {
    session::Query all;
    all.sort = session::Query::Sort::created;
    all.ascending = true;
    if (const auto page = needs.sessions.list(all))
      for (const auto* row : page->rows) ids_.push_back(row->id);
  }

  Task<std::optional<protocol::ServerMessage>> next() override {
    while (found_.empty() && at_ < ids_.size()) {
      const auto id = ids_[at_++];
      const auto check = co_await needs_.sessions.check(id, repair_);
      if (!check) {
        if (check.error().code == Errc::not_found) continue;  // trashed meanwhile
        add(id, session::Finding{"unreadable", 0, 0, check.error().what}, false);
        continue;
      }
      for (const auto& finding : check->findings) add(id, finding, check->repaired);
    }
    if (!found_.empty()) {
      auto message = std::move(found_.front());
      found_.pop_front();
      co_return message;
    }
    if (done_) co_return std::nullopt;
    done_ = true;
    protocol::ServerMessage message;
    auto& report = *message.mutable_check_report();
    report.set_last(true);
    report.set_sessions(ids_.size());
    report.set_problems(problems_);
    co_return message;
  }

 private:
  void add(const session::SessionId& id, const session::Finding& finding, bool repaired) {
    ++problems_;
    protocol::ServerMessage message;
    auto& report = *message.mutable_check_report();
    report.set_id(id.text());
    report.set_kind(finding.kind);
    report.set_line(finding.line);
    report.set_offset(finding.offset);
    report.set_what(finding.what);
    report.set_repaired(repaired);
    found_.push_back(std::move(message));
  }

  SessionChangesNeeds needs_;
  bool repair_;
  std::vector<session::SessionId> ids_;
  std::size_t at_ = 0;
  std::size_t problems_ = 0;
  std::deque<protocol::ServerMessage> found_;
  bool done_ = false;
};

}  // namespace

protocol::ServerMessage session_info(const session::Sessions& sessions,
                                     const organise::Definitions& definitions,
                                     const session::SessionId& id) {
  const auto* row = sessions.find(id);
  if (!row) return protocol::make_error(Error(Errc::not_found, "no session '" + id.text() + "'"));
  protocol::ServerMessage message;
  server::fill(*message.mutable_session_info()->mutable_session(), *row, definitions);
  return message;
}

namespace {

protocol::Answer answer_new_session(const Asked& asked) {
  return protocol::answer_with(new_session(asked.needs(), asked.message.new_session(), asked.mark));
}

protocol::Answer answer_resume_session(SessionChangesNeeds needs,
                                       const protocol::ResumeSession& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  std::optional<std::string> key;
  if (request.has_key()) key = request.key();
  return protocol::answer_with(resume_session(needs, *std::move(id), std::move(key)));
}

protocol::Answer answer_fork_session(const Asked& asked) {
  const auto& request = asked.message.fork_session();
  const SessionChangesNeeds needs = asked.needs();
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(fork_session(needs, *std::move(id), request.at(), asked.mark));
}

protocol::Answer answer_rewind_session(SessionChangesNeeds needs,
                                       const protocol::RewindSession& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(rewind_session(needs, *std::move(id), request));
}

protocol::Answer answer_patch_session(SessionChangesNeeds needs,
                                      const protocol::PatchSession& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(patch_session(needs, *std::move(id), request));
}

protocol::Answer answer_label_entry(SessionChangesNeeds needs,
                                    const protocol::LabelEntry& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(
      label_entry(needs, *std::move(id), request.entry(), request.label()));
}

protocol::Answer answer_trash_session(SessionChangesNeeds needs, const std::string& text) {
  auto id = known_session(needs.sessions, text);
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(trash_session(needs, *std::move(id)));
}

protocol::Answer answer_restore_session(SessionChangesNeeds needs,
                                        const protocol::RestoreSession& request) {
  auto id = session::SessionId::parse(request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(restore_session(needs, *std::move(id)));
}

protocol::Answer answer_check_sessions(SessionChangesNeeds needs,
                                       const protocol::CheckSessions& request) {
  return std::make_unique<CheckStream>(needs, request.repair());
}

}  // namespace

Operations session_changes_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kNewSession, Right::admin, Messages::one, Naming::ledger, answer_new_session},
      {M::kResumeSession, Right::admin, Messages::one, Naming::ledger,
       answered<&M::resume_session, answer_resume_session>},
      {M::kForkSession, Right::admin, Messages::one, Naming::ledger, answer_fork_session},
      {M::kRewindSession, Right::admin, Messages::one, Naming::ledger,
       answered<&M::rewind_session, answer_rewind_session>},
      {M::kPatchSession, Right::admin, Messages::one, Naming::ledger,
       answered<&M::patch_session, answer_patch_session>},
      {M::kLabelEntry, Right::admin, Messages::one, Naming::ledger,
       answered<&M::label_entry, answer_label_entry>},
      {M::kTrashSession, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) {
         return answer_trash_session(asked.needs(), asked.message.trash_session().id());
       }},
      {M::kDeleteConversation, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) {
         return answer_trash_session(asked.needs(),
                                     asked.message.delete_conversation().file_path());
       }},
      {M::kRestoreSession, Right::admin, Messages::one, Naming::ledger,
       answered<&M::restore_session, answer_restore_session>},
      {M::kCheckSessions, Right::admin, Messages::many, Naming::ledger,
       answered<&M::check_sessions, answer_check_sessions>},
  };
  return kRows;
}

}  // namespace reef::server
