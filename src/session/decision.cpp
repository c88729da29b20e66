#include "session/decision.h"

#include <algorithm>

#include "base/utf8.h"

namespace reef::session {

std::string decision_id(const SessionId& session, const EntryId& mark) {
  return session.text() + "." + mark.text;
}

std::optional<SessionId> session_of_decision(std::string_view id) {
  const auto dot = id.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == id.size()) return std::nullopt;
  auto session = SessionId::parse(id.substr(0, dot));
  if (!session) return std::nullopt;
  return *std::move(session);
}

const json::object* decision_of(const Entry& entry) {
  if (entry.type != "custom") return nullptr;
  if (json::find_string(entry.body, "customType") != kDecisionType) return nullptr;
  return json::find_object(entry.body, "data");
}

Draft draft_decision(json::object data) {
  return Draft{"custom", json::object{{"customType", kDecisionType}, {"data", std::move(data)}}};
}

void fold_decision(std::vector<Waiting>& waiting, const SessionId& session, const Entry& entry) {
  const auto* data = decision_of(entry);
  if (!data) return;
  const auto id = json::find_string(*data, "id").value_or("");
  const auto same = [&](const Waiting& one) { return one.id == id; };
  if (json::find_string(*data, "state") != "asked") {
    std::erase_if(waiting, same);
    return;
  }
  // The decisions in a copy of a session belong to the other session.
  if (session_of_decision(id) != session || waiting.size() >= Waiting::kMax ||
      std::any_of(waiting.begin(), waiting.end(), same))
    return;
  Waiting one;
  one.id = std::string(id);
  one.kind = std::string(utf8::prefix(json::find_string(*data, "kind").value_or(""), 16));
  one.about = utf8::prefix_chars(
      utf8::single_line(utf8::prefix(json::find_string(*data, "about").value_or(""), 1024)),
      Waiting::kAboutChars);
  one.asked = entry.time;
  one.expires = parse_iso(json::find_string(*data, "expiresAt").value_or("")).value_or(TimePoint());
  waiting.push_back(std::move(one));
}

json::array to_json(const std::vector<Waiting>& waiting) {
  json::array out;
  for (const auto& one : waiting)
    out.push_back(json::object{{"id", one.id},
                               {"kind", one.kind},
                               {"about", one.about},
                               {"asked", unix_millis(one.asked)},
                               {"expires", unix_millis(one.expires)}});
  return out;
}

std::vector<Waiting> waiting_from(const json::array& in) {
  std::vector<Waiting> out;
  for (const auto& item : in) {
    const auto* one = item.if_object();
    if (!one || out.size() >= Waiting::kMax) continue;
    const auto text = [&](std::string_view name) {
      return std::string(json::find_string(*one, name).value_or(""));
    };
    const auto time = [&](std::string_view name) {
      return TimePoint(std::chrono::milliseconds(json::find_int(*one, name).value_or(0)));
    };
    out.push_back({text("id"), text("kind"), text("about"), time("asked"), time("expires")});
  }
  return out;
}

}  // namespace reef::session
