#include "exchange/html/escape.h"

#include "base/utf8.h"

namespace reef::exchange::html {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char c : utf8::printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

std::string escaped_line(std::string_view text, std::size_t chars_max) {
  // Four bytes a character at most, and some white space: no need to look at all of a long text.
  const auto line = utf8::single_line(utf8::printable(utf8::prefix(text, 8 * chars_max)));
  const auto cut = utf8::prefix_chars(line, chars_max);
  return escaped(cut) + (cut.size() < line.size() ? "…" : "");
}

std::string escaped_output(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const auto escape = text.find('\x1b');
    plain += text.substr(0, escape);
    if (escape == std::string_view::npos) break;
    text.remove_prefix(escape + 1);
    if (!text.starts_with('[')) continue;
    const auto end = text.find_first_not_of("0123456789;?", 1);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return escaped(plain);
}

}  // namespace reef::exchange::html
