#include "exchange/html/page.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/digest.h"
#include "exchange/html/assets.h"
#include "exchange/html/escape.h"

namespace reef::exchange::html {
namespace {

// The hash by which a content security policy allows a style or script.
std::string hash_of(std::string_view text) {
  return "'sha256-" + to_base64(sha256(text)) + "'";
}

}  // namespace

std::string page_head(std::string_view title, std::string_view find) {
  static const auto policy = fmt::format(
      "default-src 'none'; img-src data:; style-src {}; script-src {}; base-uri 'none'; "
      "form-action 'none'",
      hash_of(kPageCss), hash_of(kPageJs));
  const auto name = escaped_line(title, 200);
  return fmt::format(
      R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Reef {version}">
<title>{name}</title>
<style>{css}</style>
</head>
<body>
<a class="skip" href="#talk">Skip to the conversation</a>
<div class="bar">
<span class="name"><bdi>{name}</bdi></span>
<div class="tools" role="search">
<input id="find" type="search" placeholder="{find}" aria-label="{find}" aria-keyshortcuts="/" autocomplete="off" spellcheck="false">
<output id="found" for="find" aria-live="polite"></output>
<button id="unfold" type="button">Unfold all</button>
<button id="theme" type="button">Theme</button>
</div>
</div>
<main id="talk" tabindex="-1">
)",
      fmt::arg("policy", policy), fmt::arg("version", REEF_VERSION), fmt::arg("name", name),
      fmt::arg("css", kPageCss), fmt::arg("find", escaped(find)));
}

std::string page_foot() {
  return fmt::format(
      R"(<p class="nothing" id="nothing" hidden>Nothing here says that.</p>
</main>
<footer>Exported by Reef. Times are UTC. This page is whole in itself: it asks nobody for anything.</footer>
<script>{}</script>
</body>
</html>
)",
      kPageJs);
}

}  // namespace reef::exchange::html
