#include "memory/card.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"

namespace reef::memory {
namespace {

constexpr std::string_view kOpen = "<div id=\"meta\">";
constexpr std::string_view kClose = "</div>";
// 9999-12-31T23:59:59Z, the last time that a year of four digits can express.
constexpr std::uint64_t kLastDate = 253'402'300'799;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string format_time(std::uint64_t seconds) {
  if (seconds > kLastDate) return fmt::format("@{}", seconds);
  auto text = format_iso(TimePoint(std::chrono::seconds(seconds)));
  return text.substr(0, text.find('.')) + "Z";
}

std::optional<std::uint64_t> parse_time(std::string_view text) {
  if (text.starts_with('@')) return parse_number(text.substr(1));
  const auto time = parse_iso(text);
  if (!time || time->time_since_epoch().count() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count());
}

// The text between `open` and `close`, and the text after it; nullopt when there is no such place.
struct Piece {
  std::string_view inside;
  std::string_view rest;
};
std::optional<Piece> next_piece(std::string_view text, std::string_view open,
                                std::string_view close) {
  const auto start = text.find(open);
  if (start == std::string_view::npos) return std::nullopt;
  const auto from = start + open.size();
  const auto end = text.find(close, from);
  if (end == std::string_view::npos) return std::nullopt;
  return Piece{text.substr(from, end - from), text.substr(end + close.size())};
}

Result<std::uint64_t> read_created(std::string_view row) {
  const auto attribute = next_piece(row, "datetime=\"", "\"");
  const auto text = attribute ? attribute->inside : trim(row);
  const auto time = parse_time(text);
  if (!time)
    return Error(Errc::invalid, fmt::format("Created: '{}' is not a time", utf8::excerpt(text)));
  return *time;
}

Result<std::vector<std::string>> read_aliases(std::string_view row) {
  std::vector<std::string> aliases;
  auto rest = row;
  while (const auto item = next_piece(rest, "<li>", "</li>")) {
    aliases.push_back(unescape_html(trim(item->inside)));
    rest = item->rest;
  }
  if (aliases.empty() && row.find("<ul>") == std::string_view::npos && !trim(row).empty())
    return Error(Errc::invalid,
                 fmt::format("Aliases: '{}' is not a list of <li>", utf8::excerpt(trim(row))));
  return aliases;
}

Status read_row(Card& card, std::string_view key, std::string_view row) {
  if (key == "Created") {
    REEF_TRY(card.created_at, read_created(row));
  } else if (key == "Aliases") {
    REEF_TRY(card.aliases, read_aliases(row));
  } else if (key == "Id") {
    card.id = parse_number(trim(row));
    if (!card.id)
      return Error(Errc::invalid,
                   fmt::format("Id: '{}' is not a number", utf8::excerpt(trim(row))));
  } else if (key == "Name") {
    card.name = unescape_html(trim(row));
  }
  return Ok{};
}

void skip_newline(std::string_view& text) {
  if (text.starts_with("\r\n")) {
    text.remove_prefix(2);
  } else if (text.starts_with('\n')) {
    text.remove_prefix(1);
  }
}

// Escapes control characters too, and spaces at the ends, which a reader would trim.
void append_escaped(std::string& out, char c, bool at_end) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '&') {
    out += "&amp;";
  } else if (c == '<') {
    out += "&lt;";
  } else if (c == '>') {
    out += "&gt;";
  } else if (byte < 0x20 || byte == 0x7f || (c == ' ' && at_end)) {
    out += fmt::format("&#{};", byte);
  } else {
    out.push_back(c);
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    append_escaped(out, text[i], i == 0 || i + 1 == text.size());
  return out;
}

std::string unescape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    constexpr std::size_t kEntityBytesMax = 8;
    const auto end =
        text.front() == '&' ? text.substr(0, kEntityBytesMax).find(';') : std::string_view::npos;
    const auto word = end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
    std::optional<char> meant;
    if (word == "amp") meant = '&';
    if (word == "lt") meant = '<';
    if (word == "gt") meant = '>';
    if (word == "quot") meant = '"';
    if (word.starts_with('#'))
      if (const auto code = parse_number(word.substr(1)); code && *code < 0x80)
        meant = static_cast<char>(*code);
    if (meant) {
      out.push_back(*meant);
      text.remove_prefix(end + 1);
    } else {
      out.push_back(text.front());
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string write_card(const Entry& entry, bool with_name) {
  const auto time = format_time(entry.created_at);
  auto out = fmt::format("{}\n<dl>\n", kOpen);
  if (with_name) out += fmt::format("  <dt>Name</dt>\n  <dd>{}</dd>\n", escape_html(entry.name));
  out += fmt::format("  <dt>Id</dt>\n  <dd>{}</dd>\n", entry.id);
  out += fmt::format("  <dt>Created</dt>\n  <dd><time datetime=\"{0}\">{0}</time></dd>\n", time);
  if (!entry.aliases.empty()) {
    out += "  <dt>Aliases</dt>\n  <dd><ul>";
    for (const auto& alias : entry.aliases) out += fmt::format("<li>{}</li>", escape_html(alias));
    out += "</ul></dd>\n";
  }
  out += fmt::format("</dl>\n{}\n\n{}\n", kClose, entry.content);
  return out;
}

Result<Card> parse_card(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (!utf8::valid(text)) return Error(Errc::invalid, "not valid UTF-8");
  Card card;
  if (text.starts_with(kOpen)) {
    const auto meta = next_piece(text, kOpen, kClose);
    if (!meta) return Error(Errc::invalid, "the card at the top has no end (</div>)");
    auto rows = meta->inside;
    while (const auto key = next_piece(rows, "<dt>", "</dt>")) {
      // A row ends where the next one starts.
      const auto row = key->rest.substr(0, key->rest.find("<dt>"));
      const auto value = next_piece(row, "<dd>", "</dd>");
      if (!value)
        return Error(Errc::invalid,
                     fmt::format("{}: the row has no <dd>", utf8::excerpt(key->inside)));
      REEF_CHECK(read_row(card, trim(key->inside), value->inside));
      rows = key->rest;
    }
    text = meta->rest;
    skip_newline(text);
    skip_newline(text);
  }
  if (text.ends_with('\n')) text.remove_suffix(1);
  card.content = text;
  return card;
}

}  // namespace reef::memory
