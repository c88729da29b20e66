// Sessions: changes that clients may make to bindings, metadata, the tree and the trash; repairs.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "session/attachments.h"
#include "session/metadata.h"
#include "session/session.h"

namespace reef::session {

Task<Status> Sessions::append_all_to(SessionId id, std::vector<Draft> drafts,
                                     std::optional<EntryId> parent) {
  REEF_CO_TRY(const auto session, co_await open(std::move(id)));
  REEF_CO_TRY(const auto entry, co_await session->append(std::move(drafts), std::move(parent)));
  static_cast<void>(entry);
  co_return Ok{};
}

Task<Status> Sessions::append_to(SessionId id, Draft draft, std::optional<EntryId> parent) {
  std::vector<Draft> drafts;
  drafts.push_back(std::move(draft));
  return append_all_to(std::move(id), std::move(drafts), std::move(parent));
}

// Later than any earlier binding of the key, even when the clock stands still or went back.
std::int64_t Sessions::next_binding(const Key& key) const {
  const auto now = unix_millis(clock_.now());
  const auto bound = current(key);
  const auto* row = bound ? find(*bound) : nullptr;
  return row ? std::max(now, row->bound_at() + 1) : now;
}

Task<Result<Key>> Sessions::resume(SessionId id, std::optional<Key> key) {
  const auto* row = find(id);
  if (!row) co_return no_session(id);
  if (!key) {
    auto own =
        row->key().empty() ? Key::of_pair(row->agent(), row->sender()) : Key::parse(row->key());
    if (!own)
      co_return std::move(own).error().with("session " + id.text() + " has no key; name one");
    key = *std::move(own);
  }
  const auto bound_at = next_binding(*key);
  json::object patch{
      {"key", key->text()}, {"boundAt", bound_at}, {"lastUsedAt", unix_millis(clock_.now())}};
  // A session from elsewhere gets its pair from the key.
  if (const auto pair = key->pair(); pair && row->agent().empty()) {
    patch["agent"] = pair->first;
    patch["sender"] = pair->second;
  }
  REEF_CO_CHECK(co_await append_to(id, draft_meta(std::move(patch))));
  co_return *key;
}

Task<Status> Sessions::rewind(SessionId id, EntryId entry) {
  REEF_CO_TRY(const auto transcript, co_await read(id));
  if (!transcript.find(entry))
    co_return Error(Errc::not_found, fmt::format("no entry '{}' in session {}",
                                                 utf8::excerpt(entry.text), id.text()));
  std::optional<EntryId> from;
  if (const auto* leaf = transcript.leaf()) from = leaf->id;
  auto mark = draft_rewind(entry, from);
  co_return co_await append_to(std::move(id), std::move(mark), std::move(entry));
}

Task<Status> Sessions::label(SessionId id, EntryId entry, std::string text) {
  REEF_CO_TRY(const auto transcript, co_await read(id));
  if (!transcript.find(entry))
    co_return Error(Errc::not_found, fmt::format("no entry '{}' in session {}",
                                                 utf8::excerpt(entry.text), id.text()));
  Draft draft{"label", json::object{{"targetId", entry.text}}};
  if (!text.empty()) draft.fields["label"] = text;
  co_return co_await append_to(std::move(id), std::move(draft));
}

Task<Status> Sessions::patch(SessionId id, json::object patch) {
  REEF_CO_CHECK(check_patch(patch));
  std::vector<Draft> drafts;
  // The title has an entry type of its own, which pi reads too; the rest is one entry, one change.
  if (const auto* name = patch.if_contains("name")) {
    const auto title = name->is_null() ? std::string() : std::string(name->get_string());
    drafts.push_back(Draft{"session_info", json::object{{"name", title}}});
    patch.stable_erase("name");
  }
  // gc counts from this time, so archiving once more must not change it.
  if (const auto* archived = patch.if_contains("isArchived")) {
    const auto* row = find(id);
    const bool on = archived->is_bool() && archived->get_bool();
    if (!on) {
      patch["archivedAt"] = nullptr;
    } else if (row && !row->flag("isArchived")) {
      patch["archivedAt"] = unix_millis(clock_.now());
    }
  }
  if (!patch.empty()) drafts.push_back(draft_meta(std::move(patch)));
  if (drafts.empty()) co_return Ok{};
  co_return co_await append_all_to(std::move(id), std::move(drafts));
}

Task<Status> Sessions::set_facts(SessionId id, json::object facts) {
  co_return co_await append_to(std::move(id), draft_meta(std::move(facts)));
}

Task<Ok> Sessions::undo_create(SessionId id) {
  auto done = co_await transcripts_.trash(id, clock_.now());
  if (done) done = co_await transcripts_.purge(id);
  if (!done)
    log::warn("session {}: left behind by a failed fork: {}", id.text(), done.error().what);
  co_return Ok{};
}

Task<Result<SessionId>> Sessions::fork(SessionId id, std::optional<EntryId> at,
                                       std::string made_for) {
  const auto* row = find(id);
  if (!row) co_return no_session(id);
  const std::string agent(row->agent());
  const std::string sender(row->sender());
  REEF_CO_TRY(const auto transcript, co_await read(id));
  const auto branch = at ? transcript.branch(*at) : transcript.branch();
  if (at && branch.empty())
    co_return Error(Errc::not_found,
                    fmt::format("no entry '{}' in session {}", utf8::excerpt(at->text), id.text()));

  std::string lines;
  std::vector<std::string> files;
  std::optional<EntryId> parent;
  std::set<std::string> copied;
  const auto add = [&](Entry entry) {
    parent = entry.id;
    copied.insert(entry.id.text);
    lines += entry_line(entry);
  };
  for (const auto* entry : branch) {
    // Labels are made anew below; bindings and marks belong to the old session.
    const bool mark = json::find_string(entry->body, "customType") == "reef.rewind";
    // So do decisions, and the names clients gave to what they sent.
    if (entry->type == "label" || meta_of(*entry) || mark || decision_of(*entry)) continue;
    auto copy = *entry;
    copy.body.erase("client");
    if (copied.contains(copy.id.text)) copy.id = fresh_entry_id(random_);
    copy.parent = parent;
    copy.body["parentId"] = parent ? json::value(parent->text) : json::value(nullptr);
    copy.body["id"] = copy.id.text;
    if (auto path = attachment_path(copy)) files.push_back(*std::move(path));
    add(std::move(copy));
  }
  const auto now = clock_.now();
  const auto append_draft = [&](Draft draft) {
    add(make_entry(std::move(draft), fresh_entry_id(random_), parent, now));
  };
  for (const auto& [target, text] : transcript.labels())
    if (copied.contains(target))
      append_draft(Draft{"label", json::object{{"targetId", target}, {"label", text}}});
  json::object meta{
      {"agent", agent}, {"sender", sender}, {"source", "native"}, {"forkedFrom", id.text()}};
  if (!made_for.empty()) meta["madeFor"] = made_for;
  append_draft(draft_meta(std::move(meta)));
  Header header;
  header.time = now;
  header.cwd = transcript.header().cwd;
  header.parent_session = transcripts_.path_of(id);
  std::string bytes;
  REEF_CO_TRY(auto made, co_await shielded(create_file(std::move(lines), header, bytes)));
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  if (needs_.folders && !files.empty()) {
    const auto taken_along = co_await shielded(needs_.folders->copy(id, made, std::move(files)));
    if (!taken_along) {
      // A fork must not exist without its files.
      co_await shielded(undo_create(made));
      co_return Error(taken_along.error()).with("copy the attachments of " + id.text());
    }
  }
  adopt(make_row(made, bytes));
  mark_changed(made);
  co_return made;
}

Task<Result<Sessions::Check>> Sessions::check(SessionId id, bool repair) {
  co_return co_await shielded(check_unshielded(std::move(id), repair));
}

Task<Result<Sessions::Check>> Sessions::check_unshielded(SessionId id, bool repair) {
  REEF_CO_TRY(const auto bytes, co_await transcripts_.read(id));
  const auto* row = find(id);
  if (!row) co_return no_session(id);
  Check check;
  check.findings = check_transcript(bytes, *row);
  // A session in use may grow between the two looks; that is no finding.
  if (row->bytes != bytes.size())
    std::erase_if(check.findings, [](const Finding& f) { return f.kind == "catalog"; });
  if (check.findings.empty() || !repair) co_return check;
  const bool in_file = std::any_of(check.findings.begin(), check.findings.end(),
                                   [](const Finding& f) { return f.kind != "catalog"; });
  if (in_file) {
    REEF_CO_CHECK(co_await transcripts_.rewrite(id, bytes.size(), repaired(bytes, id), "damaged"));
    if (const auto cached = cache_.find(id); cached != cache_.end())
      cached->second.session->distrust();
  }
  std::vector<Refresh> requests;
  requests.push_back(Refresh{id, std::nullopt});
  co_await refresh(std::move(requests));
  if (in_file && needs_.on_change && !stopping_) needs_.on_change(id, true);
  check.repaired = true;
  co_return check;
}

void Sessions::drop_missing(const SessionId& id) {
  log::warn("session {}: its folder was removed by somebody else", id.text());
  forget(id);
  mark_changed(id);
}

Task<Status> Sessions::trash_unshielded(SessionId id) {
  // A turn that is running would have nowhere to write what was said.
  const Error busy(Errc::busy, fmt::format("session {} is in use; wait, or reef kill", id.text()));
  const auto* row = find(id);
  if (!row) co_return no_session(id);
  if (is_used(id)) co_return busy;
  // Nobody can answer there any more, also when it is restored. A full disk is no reason to stay.
  std::vector<Draft> closed;
  for (const auto& one : row->waiting)
    closed.push_back(draft_decision(json::object{
        {"id", one.id}, {"state", "closed"}, {"reason", "the session was put in the trash"}}));
  if (!closed.empty()) {
    if (const auto done = co_await append_all_to(id, std::move(closed)); !done)
      log::warn("session {}: {}", id.text(), done.error().what);
    if (!find(id)) co_return no_session(id);
    if (is_used(id)) co_return busy;
  }
  REEF_CO_CHECK(co_await transcripts_.trash(id, clock_.now()));
  forget(id);
  mark_changed(id);
  co_return Ok{};
}

Task<TimePoint> Sessions::trashed_since(SessionId id) {
  if (const auto all = co_await transcripts_.trashed())
    for (const auto& one : *all)
      if (one.id == id) co_return one.since;
  co_return clock_.now();
}

Task<Status> Sessions::restore_unshielded(SessionId id) {
  const auto since = co_await trashed_since(id);
  REEF_CO_CHECK(co_await transcripts_.restore(id));
  std::vector<Refresh> requests;
  requests.push_back(Refresh{id, std::nullopt});
  co_await refresh(std::move(requests));
  const auto* row = find(id);
  if (!row || !needs_.name_now) co_return Ok{};
  const std::string agent(row->agent());
  const auto now = needs_.name_now(agent, since);
  if (now == agent) co_return Ok{};
  // The session is back, even when it cannot be renamed.
  if (const auto renamed = co_await rename_agent_unshielded(agent, now, id); !renamed)
    log::warn("session {}: agent {} is called {} now: {}", id.text(), agent, now,
              renamed.error().what);
  co_return Ok{};
}

Task<std::vector<Status>> Sessions::take_in(std::vector<Arrival> arrivals) {
  co_return co_await shielded(take_in_unshielded(std::move(arrivals)));
}

Task<std::vector<Status>> Sessions::take_in_unshielded(std::vector<Arrival> arrivals) {
  std::vector<Incoming> incoming;
  for (const auto& arrival : arrivals) incoming.push_back(Incoming{arrival.row.id, arrival.folder});
  auto outcomes = co_await transcripts_.take_in(std::move(incoming));
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (!outcomes[i]) continue;
    const auto id = arrivals[i].row.id;
    adopt(std::move(arrivals[i].row));
    mark_changed(id);
  }
  co_return outcomes;
}

Task<Result<Session::Placed>> Sessions::append_foreign(SessionId id, Session::Foreign foreign) {
  REEF_CO_TRY(const auto session, co_await open(std::move(id)));
  co_return co_await session->append_foreign(std::move(foreign));
}

Task<Status> Sessions::trash(SessionId id) {
  co_return co_await shielded(trash_unshielded(std::move(id)));
}

Task<Status> Sessions::restore(SessionId id) {
  co_return co_await shielded(restore_unshielded(std::move(id)));
}

}  // namespace reef::session
