#include "session/check.h"

#include <set>

#include <fmt/format.h>

#include "session/transcript.h"

namespace reef::session {

std::vector<Finding> check_transcript(std::string_view bytes, const Row& row) {
  std::vector<Finding> findings;
  for (const auto& damage : read_transcript(bytes).damage)
    findings.push_back(
        Finding{std::string(name_of(damage.kind)), damage.line, damage.offset, damage.what});
  if (json::write(to_json(make_row(row.id, bytes))) != json::write(to_json(row)))
    findings.push_back(Finding{"catalog", 0, 0, "the catalog's row is not what the file says"});
  return findings;
}

std::string repaired(std::string_view bytes, const SessionId& id) {
  const Transcript transcript(read_transcript(bytes));
  Header header = transcript.header();
  if (header.id.empty()) header.id = id.text();
  header.version = Header::kVersion;
  if (header.time == TimePoint() && !transcript.entries().empty())
    header.time = transcript.entries().front().time;
  std::string out = header_line(header);

  std::set<std::string> used;
  std::vector<std::string> ids;  // the new id of each entry
  for (std::size_t i = 0; i < transcript.entries().size(); ++i) {
    auto body = transcript.entries()[i].body;
    auto name = transcript.entries()[i].id.text;
    for (int n = 2; !used.insert(name).second; ++n)
      name = fmt::format("{}-{}", transcript.entries()[i].id.text, n);
    ids.push_back(name);
    const auto parent = transcript.parents()[i];
    body["id"] = name;
    body["parentId"] = parent < ids.size() ? json::value(ids[parent]) : json::value(nullptr);
    out += json::write(body) + "\n";
  }
  return out;
}

}  // namespace reef::session
