#include "hooks/mcp/names.h"

#include <set>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::hooks {
namespace {

constexpr std::size_t kNameBytesMax = 64;
// This leaves room for a number at the end.
constexpr std::size_t kCutBytes = 60;

void add_clean(std::string& out, std::string_view text) {
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    out += plain ? c : '_';
  }
}

// FNV-1a, because it is the same on every machine and in every run.
std::uint32_t mark_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

std::string tool_name(std::string_view server, std::string_view tool) {
  std::string out;
  add_clean(out, server);
  out += "__";
  add_clean(out, tool);
  if (out.size() <= kCutBytes) return out;
  const auto mark = fmt::format("_{:08x}", mark_of(fmt::format("{}\n{}", server, tool)));
  return out.substr(0, kCutBytes - mark.size()) + mark;
}

std::vector<NamedTool> named_tools(const std::vector<mcp::Listing>& servers,
                                   std::vector<std::string>& clashes) {
  std::vector<NamedTool> out;
  std::set<std::string> taken;
  for (const auto& server : servers)
    for (const auto& tool : server.tools) {
      const auto wanted = tool_name(server.spec.name, tool.name);
      auto name = wanted;
      for (int number = 2; !taken.insert(name).second; ++number)
        name = fmt::format("{}_{}", wanted, number);
      if (name.size() > kNameBytesMax) continue;
      if (name != wanted)
        clashes.push_back(fmt::format("'{}' of server '{}' is {}: {} is taken",
                                      utf8::excerpt(tool.name), server.spec.name, name, wanted));
      out.push_back({std::move(name), server.spec.name, tool});
    }
  return out;
}

}  // namespace reef::hooks
