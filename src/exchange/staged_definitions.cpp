// What comes with sessions: agents, skills, statuses, notes, archives. Each goes to who keeps its
// kind.

#include <fmt/format.h>

#include "exchange/definitions.h"
#include "exchange/staged_session.h"

namespace reef::exchange {

// Puts an archive into the memory of the session's agent; when it cannot be there, it becomes a
// file of the session.
Status StagedIntake::keep_archive(Definition archive) {
  if (!open_) return Error(Errc::internal, "an archive without a session");
  archive.text = redacted(archive.text);
  const auto& facts = open_->known ? open_->before : open_->meta;
  const std::string agent(json::find_string(facts, "agent").value_or(""));
  if (job_.needs().remember && !agent.empty()) {
    archive.body["agent"] = agent;
    archive.body["agent_comes"] = job_.brings_agent(agent);
    const auto kept =
        job_.request.dry_run ? Result<bool>(true) : job_.give(job_.needs().remember, archive);
    if (kept) {
      if (*kept) ++job_.definitions;
      return Ok{};
    }
    const auto code = kept.error().code;
    const bool refused = code == Errc::conflict || code == Errc::invalid ||
                         code == Errc::too_large || code == Errc::corrupt;
    if (!refused) return kept.error();
    problem(Problem{open_->head.path, 0,
                    fmt::format("{}: {}; it is in the session's data/archives", describe(archive),
                                kept.error().what)});
  }
  REEF_TRY(const auto path, put("data/archives", archive.name + ".md", archive.text));
  static_cast<void>(path);
  ++job_.definitions;
  return Ok{};
}

// The part of the daemon that keeps such definitions; nullptr when they are files of the home.
const Keeper* StagedIntake::keeper_of(Definition::Kind kind) const {
  const auto& needs = job_.needs();
  switch (kind) {
    case Definition::Kind::status:
    case Definition::Kind::label:
      return &needs.organise;
    case Definition::Kind::note:
    case Definition::Kind::archive:
      return &needs.remember;
    case Definition::Kind::subscription:
      return &needs.subscribe;
    default:
      return nullptr;
  }
}

Status StagedIntake::define(Definition definition) {
  using Kind = Definition::Kind;
  if (definition.kind == Kind::archive) return keep_archive(std::move(definition));
  if (!job_.claim(definition)) return Ok{};
  if (const auto why = definition.body.if_contains("left_out"); why && why->is_string()) {
    job_.refused(Problem{describe(definition), 0, std::string(why->get_string())});
    definition.body.erase("left_out");
  }
  if (job_.request.redact) {
    json::value body(std::move(definition.body));
    redact(body);
    definition.body = std::move(body.get_object());
    definition.text = redacted(definition.text);
  }
  const auto what = describe(definition);
  Result<bool> taken = false;
  const auto* keeper = keeper_of(definition.kind);
  if (definition.kind == Kind::note)
    definition.body["agent_comes"] =
        job_.brings_agent(std::string(json::find_string(definition.body, "agent").value_or("")));
  if (keeper) {
    if (!*keeper) {
      problem(Problem{what, 0, "not taken: this daemon keeps none"});
      return Ok{};
    }
    taken = job_.request.dry_run ? Result<bool>(true) : job_.give(*keeper, std::move(definition));
  } else {
    const std::lock_guard lock(job_.definitions_mutex());
    const bool agent = definition.kind == Kind::agent || definition.kind == Kind::skill;
    taken = keep_definition(files_, job_.needs().documents, definition, job_.request.dry_run);
    if (agent && taken && *taken && !job_.request.dry_run) job_.agents_came = true;
  }
  if (!taken) {
    // A full disk ends the import; an invalid definition is reported.
    const auto code = taken.error().code;
    if (code != Errc::invalid && code != Errc::conflict && code != Errc::not_found &&
        code != Errc::too_large && code != Errc::corrupt)
      return std::move(taken).error();
    problem(Problem{what, 0, "not taken: " + taken.error().what});
  } else if (*taken) {
    ++job_.definitions;
  }
  return Ok{};
}

}  // namespace reef::exchange
