#include "daemon/agent_names.h"

#include "base/json.h"

namespace reef::daemon {

std::vector<Renamed> parse_renamed(std::string_view text) {
  std::vector<Renamed> out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = json::parse(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line || !line->is_object()) continue;
    const auto& fields = line->get_object();
    const auto from = json::find_string(fields, "from"), to = json::find_string(fields, "to");
    const auto at = parse_iso(json::find_string(fields, "at").value_or(""));
    if (from && to && at) out.push_back({std::string(*from), std::string(*to), *at});
  }
  return out;
}

std::string write_renamed(const std::vector<Renamed>& renamed) {
  std::string out;
  const auto first = renamed.size() > kRenamedMax ? renamed.size() - kRenamedMax : 0;
  for (auto i = first; i < renamed.size(); ++i)
    out +=
        json::write(json::object{
            {"from", renamed[i].from}, {"to", renamed[i].to}, {"at", format_iso(renamed[i].at)}}) +
        "\n";
  return out;
}

std::string name_now(const std::vector<Renamed>& renamed, std::string agent, TimePoint then) {
  for (const auto& one : renamed)
    if (one.at >= then && one.from == agent) agent = one.to;
  return agent;
}

}  // namespace reef::daemon
