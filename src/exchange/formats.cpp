#include "exchange/formats.h"

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

constexpr Format kFormats[] = {
    {"pi", true, false, false, &pi_writer},
    {"crabtalk", true, true, false, &crabtalk_writer},
    {"craft", false, false, false, &craft_writer},
    {"craft-bundle", true, false, false, &craft_bundle_writer},
    {"clawdbot", false, false, false, &clawdbot_writer},
    {"markdown", true, false, false, &markdown_writer},
    {"ndjson", true, false, true, &ndjson_writer},
    {"html", true, false, false, &html_writer},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Result<const Format*> find_format(std::string_view name) {
  std::string known;
  for (const auto& format : kFormats) {
    if (format.name == name) return &format;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", format.name);
  }
  return Error(Errc::invalid,
               fmt::format("'{}' is not a format; there are: {}", utf8::excerpt(name), known));
}

}  // namespace reef::exchange
