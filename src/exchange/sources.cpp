#include "exchange/sources.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/clawdbot/clawdbot.h"
#include "exchange/crabtalk/crabtalk.h"
#include "exchange/craft/craft.h"
#include "exchange/html/html.h"
#include "exchange/pi/pi.h"
#include "exchange/text/text.h"

namespace reef::exchange {
namespace {

constexpr Format kCrabTalkFormats[] = {
    {.name = "crabtalk", .oldest_first = true, .make = &crabtalk_writer},
};
constexpr WellKnown kCrabTalkPlaces[] = {{"CRABTALK_HOME", ".crabtalk"}};

constexpr Format kCraftFormats[] = {
    {.name = "craft", .one_file = false, .make = &craft_writer},
    {.name = "craft-bundle", .make = &craft_bundle_writer},
};
constexpr WellKnown kCraftPlaces[] = {{"CRAFT_CONFIG_DIR", ".craft-agent"}};

constexpr std::string_view kClawdbotAliases[] = {"openclaw"};  // its current name
constexpr Format kClawdbotFormats[] = {
    {.name = "clawdbot", .one_file = false, .make = &clawdbot_writer},
};
constexpr WellKnown kClawdbotPlaces[] = {
    {"CLAWDBOT_STATE_DIR", ".clawdbot"},
    {"OPENCLAW_STATE_DIR", ".openclaw"},
};

constexpr Format kPiFormats[] = {{.name = "pi", .make = &pi_writer}};
constexpr WellKnown kPiPlaces[] = {
    {"PI_CODING_AGENT_DIR", ".pi/agent"},
    {"PI_CODING_AGENT_SESSION_DIR", ""},
};

// Places are looked at in this order, and a path is the first one's that recognises it: Clawdbot's
// transcripts are pi's, in folders of its own.
constexpr Source kSources[] = {
    {
        .name = "crabtalk",
        .read = &read_crabtalk,
        .recognises = &is_crabtalk,
        .formats = kCrabTalkFormats,
        .places = kCrabTalkPlaces,
        .sessions_folder = "sessions",
        .has_store = true,
    },
    {
        .name = "craft",
        .read = &read_craft,
        .recognises = &is_craft,
        .formats = kCraftFormats,
        .places = kCraftPlaces,
        .sessions_folder = "workspaces",
        .has_store = false,
    },
    {
        .name = "clawdbot",
        .aliases = kClawdbotAliases,
        .read = &read_clawdbot,
        .recognises = &is_clawdbot,
        .formats = kClawdbotFormats,
        .places = kClawdbotPlaces,
        .sessions_folder = "agents",
        .has_store = true,
    },
    {
        .name = "pi",
        .read = &read_pi,
        .recognises = &is_pi,
        .formats = kPiFormats,
        .places = kPiPlaces,
        .sessions_folder = "sessions",
        .has_store = false,
    },
};

// Formats that are written and never read.
constexpr Format kOwnFormats[] = {
    {.name = "markdown", .make = &markdown_writer},
    {.name = "ndjson", .joinable = true, .make = &ndjson_writer},
    {.name = "html", .make = &html_writer},
};

std::vector<Format> all_formats() {
  std::vector<Format> all;
  for (const auto& source : kSources)
    all.insert(all.end(), source.formats.begin(), source.formats.end());
  all.insert(all.end(), std::begin(kOwnFormats), std::end(kOwnFormats));
  return all;
}

}  // namespace

std::span<const Source> sources() {
  return kSources;
}

Result<const Source*> find_source(std::string_view name) {
  std::string known;
  for (const auto& source : kSources) {
    const auto& aliases = source.aliases;
    if (source.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      return &source;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", source.name);
  }
  return Error(Errc::invalid, fmt::format("'{}' is none of: {}", utf8::excerpt(name), known));
}

const Source* recognise(Files& files, const std::string& path) {
  const auto* found = std::find_if(std::begin(kSources), std::end(kSources),
                                   [&](const auto& one) { return one.recognises(files, path); });
  return found == std::end(kSources) ? nullptr : found;
}

std::span<const Format> formats() {
  static const auto kAll = all_formats();
  return kAll;
}

Result<const Format*> find_format(std::string_view name) {
  std::string known;
  for (const auto& format : formats()) {
    if (format.name == name) return &format;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", format.name);
  }
  return Error(Errc::invalid,
               fmt::format("'{}' is not a format; there are: {}", utf8::excerpt(name), known));
}

}  // namespace reef::exchange
