// What an import writes about a session at its end: its metadata, what of the source's claims is
// allowed, and the usage that its messages do not say.

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/staged_session.h"
#include "session/metadata.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kOtherMetaBytesMax = 16U << 10;
constexpr std::size_t kMetaTextBytesMax = 1024;

// The source's own count of what the session used; the next import counts only the difference.
constexpr std::string_view kUsageField = "originUsage";

// Numbers of ours that nobody sets by hand.
bool is_count(std::string_view field) {
  return field == "uptimeSecs" || field == "lastUsedAt" || field == "archivedAt";
}

}  // namespace

void StagedIntake::learn(json::object meta) {
  if (!open_) return;
  for (auto& [name, value] : meta) open_->meta[name] = std::move(value);
}

json::object StagedIntake::meta_of_import() {
  auto& open = *open_;
  json::object out;
  json::object other;
  for (auto& [name, value] : open.meta) {
    if (name == "name" || name == "key" || name == "originMark" || value.is_null()) continue;
    // A session that is already here gets only fields nobody has set.
    if (open.known && open.before.contains(name) && name != kUsageField) continue;
    if (job_.request.redact) redact(value);
    if (name == "agent" || name == "sender") {
      if (const auto* text = value.if_string(); text && session::check_part(name, *text))
        out[name] = value;
      continue;
    }
    // This would let others run commands. It is kept for a later export and has no effect here.
    if (name == "elevatedLevel" && value != json::value("off")) {
      job_.refused(Problem{open.head.path, 0,
                           fmt::format("elevatedLevel {}: reef set ID elevatedLevel=... allows it",
                                       utf8::excerpt(json::write(value), 40))});
      other[name] = value;
      continue;
    }
    if (name == kUsageField) {
      out[name] = value;
      continue;
    }
    if (is_count(name)) {
      if (value.is_int64() && value.get_int64() > 0) out[name] = value;
      continue;
    }
    if (auto* text = value.if_string(); text && text->size() > kMetaTextBytesMax)
      *text = utf8::prefix(*text, kMetaTextBytesMax);
    const auto checked = session::check_patch(json::object{{name, value}});
    if (checked) {
      out[name] = value;
    } else {
      other[name] = value;
    }
  }
  // These facts have no place of their own here.
  if (!other.empty()) {
    if (json::write(other).size() <= kOtherMetaBytesMax) {
      out["imported"] = std::move(other);
    } else {
      problem(Problem{open.head.path, 0,
                      fmt::format("more than {} bytes of facts that have no place here; left out",
                                  kOtherMetaBytesMax)});
    }
  }
  settle_claims(out);
  out["source"] = job_.request.source.name;
  out["origin"] = open.head.origin;
  const auto* unfinished = open.meta.if_contains("originMark");
  out["originMark"] = unfinished ? "" : open.head.mark;
  if (!open.other_marks.empty()) out["originMarks"] = open.other_marks;
  if (!open.parent_id.empty()) out["forkedFrom"] = open.parent_id;
  return out;
}

// A fact as it will be stored, from the head or from entries of ours.
std::string StagedIntake::fact(std::string_view name) const {
  const auto& open = *open_;
  const auto& there = open.known ? open.before : open.row.meta;
  const auto own = json::find_string(open.meta, name);
  return std::string(own ? *own : json::find_string(there, name).value_or(""));
}

void StagedIntake::settle_claims(json::object& out) {
  auto& open = *open_;
  auto& claims = open.claims;
  const auto refuse = [&](std::string why) {
    job_.refused(Problem{open.head.path, 0, std::move(why)});
  };
  const auto is_set = [&](std::string_view name) {
    return open.known && open.before.contains(name);
  };
  if (!claims.mode.empty() && !is_set("permissionMode")) {
    const auto key = open.known                                ? fact("key")
                     : open.head.of_store || job_.request.keys ? claims.key
                                                               : std::string();
    auto agent = fact("agent");
    if (const auto parsed = session::Key::parse(key); parsed && agent.empty())
      if (const auto pair = parsed->pair()) agent = pair->first;
    const auto own = job_.own_mode(agent, fact("sender"), key);
    if (claims.mode == own) {
      // It is the agent's mode already and is not written down: a sender behind a gateway may come
      // to have this session, and for such senders the agent has another mode.
    } else if (is_no_wider(claims.mode, own)) {
      out["permissionMode"] = claims.mode;
    } else {
      refuse(fmt::format("permission mode {}: the agent's own is {}; reef mode sets another",
                         utf8::excerpt(claims.mode, 40), own));
    }
  }
  if (!claims.model.empty() && !is_set("modelOverride")) {
    const json::object patch{{"modelOverride", claims.model}};
    if (open.head.of_store && session::check_patch(patch)) {
      out["modelOverride"] = claims.model;
    } else {
      refuse(fmt::format("model {}: reef set ID modelOverride=... chooses one",
                         utf8::excerpt(claims.model, 100)));
    }
  }
  if (!claims.key.empty() && !open.head.of_store && !job_.request.keys) {
    if (!open.known) refuse(fmt::format("key {}: --keys takes it", utf8::excerpt(claims.key, 200)));
    claims.key.clear();
  }
  if (!claims.rest.empty()) {
    std::string names;
    for (const auto& name : claims.rest) names += (names.empty() ? "" : ", ") + name;
    refuse("fields that allow or start something: " + utf8::excerpt(names, 400));
  }
}

std::string StagedIntake::title() {
  const auto* name = open_->meta.if_contains("name");
  if (!name || !name->is_string()) return {};
  return redacted(
      utf8::prefix(utf8::single_line(std::string_view(name->get_string())), kMetaTextBytesMax));
}

// Counts what the source says the session used in all, beyond what its messages say.
Status StagedIntake::count_usage() {
  auto& open = *open_;
  const auto* claimed = json::find_object(open.meta, kUsageField);
  if (!claimed) return Ok{};
  const auto* before = open.known ? json::find_object(open.before, kUsageField) : nullptr;
  const auto more = [&](std::string_view field) {
    const auto was = before ? json::find_int(*before, field).value_or(0) : 0;
    return std::max<std::int64_t>(0, json::find_int(*claimed, field).value_or(0) - was);
  };
  const auto cost_of = [](const json::object* in) {
    const auto* cost = in ? in->if_contains("cost") : nullptr;
    return cost && cost->is_number() ? std::max(0.0, cost->to_number<double>()) : 0.0;
  };
  const double cost = std::max(0.0, cost_of(claimed) - cost_of(before));
  const auto input = more("input"), output = more("output");
  if (input + output == 0 && cost == 0) return Ok{};
  session::Draft draft{"usage",
                       {{"provider", job_.request.source.name},
                        {"model", json::find_string(*claimed, "model").value_or("")},
                        {"usage", json::object{{"input", input},
                                               {"output", output},
                                               {"cacheRead", 0},
                                               {"cacheWrite", 0},
                                               {"totalTokens", input + output},
                                               {"cost", json::object{{"total", cost}}}}}}};
  auto id = stable_id(fmt::format("{}#usage{}", open.head.origin, json::write(*claimed)));
  const auto time = open.row.updated > open.head.created ? open.row.updated : open.head.created;
  auto entry = session::make_entry(std::move(draft), id, open.known ? open.leaf : open.last, time);
  if (open.known && !open.added.empty()) set_parent(entry, open.added.back().id);
  open.last = std::move(id);
  if (!open.known) return write(entry);
  if (!open.ids.insert(hash_of(entry.id.text))) return Ok{};
  open.added.push_back(std::move(entry));
  return Ok{};
}

}  // namespace reef::exchange
