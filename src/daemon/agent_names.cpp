#include "daemon/agent_names.h"

#include <algorithm>

#include <fmt/format.h>

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

std::string id_of(const std::vector<Renamed>& renamed, const std::string& agent) {
  // Goes back to the first name; the renames before index `before` were done by then.
  auto name = agent;
  auto before = renamed.size();
  for (auto i = renamed.size(); i > 0; --i) {
    if (renamed[i - 1].to != name) continue;
    name = renamed[i - 1].from;
    before = i - 1;
  }
  const auto namesakes =
      std::count_if(renamed.begin(), renamed.begin() + static_cast<std::ptrdiff_t>(before),
                    [&](const Renamed& one) { return one.from == name; });
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const auto hash = [](std::string_view text) {
    std::uint64_t out = 14695981039346656037ULL;
    for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return out;
  };
  const auto origin = fmt::format("{}\n{}", namesakes, name);
  std::uint64_t halves[] = {hash("agent " + origin), hash("id of " + origin)};
  std::string out;
  for (auto& half : halves)
    for (int i = 0; i < 13; ++i, half >>= 5U) out += kDigits[half % 32];
  out[0] = kDigits[static_cast<std::size_t>(out[0]) % 8];  // a ULID has no more bits
  return out;
}

std::string name_now(const std::vector<Renamed>& renamed, std::string agent, TimePoint then) {
  for (const auto& one : renamed)
    if (one.at >= then && one.from == agent) agent = one.to;
  return agent;
}

}  // namespace reef::daemon
