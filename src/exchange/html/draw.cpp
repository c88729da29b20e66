#include "exchange/html/draw.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/html/escape.h"
#include "render/code.h"
#include "render/diff.h"

namespace reef::exchange::html {
namespace {

using render::Block;
using render::Role;
using render::Span;

// Longer code is shown without colours: every span costs a browser more than its bytes.
constexpr std::size_t kColouredBytesMax = 256U << 10;

char class_of(Role role) {
  switch (role) {
    case Role::comment:
      return 'c';
    case Role::string:
      return 's';
    case Role::number:
      return 'n';
    case Role::keyword:
      return 'k';
    case Role::type:
      return 't';
    case Role::function:
      return 'f';
    case Role::heading:
      return 'h';
    case Role::added:
      return 'a';
    case Role::removed:
      return 'd';
    case Role::plain:
    case Role::link:
    case Role::mark:
      break;
  }
  return 0;
}

std::string drawn(const Span& span) {
  std::string out;
  // Text outside of HTML's white space, so that a break that was meant stays one.
  for (const char c : escaped(span.text))
    if (c == '\n') {
      out += "<br>";
    } else {
      out += c;
    }
  const auto& style = span.style;
  if (const char name = class_of(style.role))
    out = fmt::format("<span class=\"{}\">{}</span>", name, out);
  if (style.changed) out = "<mark>" + out + "</mark>";
  if (style.code) out = "<code>" + out + "</code>";
  if (style.strike) out = "<del>" + out + "</del>";
  if (style.italic) out = "<em>" + out + "</em>";
  if (style.bold) out = "<strong>" + out + "</strong>";
  return out;
}

std::string drawn(const render::Line& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size();) {
    const auto& link = line[i].link;
    std::string words;
    for (; i < line.size() && line[i].link == link; ++i) words += drawn(line[i]);
    out += link.empty()
               ? words
               : fmt::format("<a href=\"{}\" rel=\"noopener noreferrer\" target=\"_blank\">{}</a>",
                             escaped(link), words);
  }
  return out;
}

std::string drawn(const std::vector<Block>& blocks);

std::string drawn_item(const Block& item, bool tight) {
  std::string out = "<li>";
  if (item.task != Block::Task::none) out += item.task == Block::Task::open ? "☐ " : "☑ ";
  for (const auto& inner : item.inner)
    out += tight && inner.kind == Block::Kind::paragraph ? drawn(inner.words)
                                                         : drawn(std::vector{inner});
  return out + "</li>";
}

std::string drawn_table(const Block& table) {
  std::string out = "<div class=\"wide\"><table>";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (r == 0) out += "<thead>";
    if (r == 1) out += "<tbody>";
    out += "<tr>";
    for (const auto& cell : table.rows[r])
      out += r == 0 ? "<th>" + drawn(cell) + "</th>" : "<td>" + drawn(cell) + "</td>";
    out += "</tr>";
    if (r == 0) out += "</thead>";
  }
  if (table.rows.size() > 1) out += "</tbody>";
  return out + "</table></div>";
}

std::string drawn(const std::vector<Block>& blocks) {
  std::string out;
  for (const auto& block : blocks) switch (block.kind) {
      case Block::Kind::paragraph:
        out += "<p>" + drawn(block.words) + "</p>";
        break;
      case Block::Kind::heading: {
        // The page uses the first two levels, so headings in a message begin at the third.
        const auto level = std::min(6U, block.level + 2);
        out += fmt::format("<h{0}>{1}</h{0}>", level, drawn(block.words));
        break;
      }
      case Block::Kind::code:
        out += "<pre><code>" + highlighted(block.language, block.code) + "</code></pre>";
        break;
      case Block::Kind::quote:
        out += "<blockquote>" + drawn(block.inner) + "</blockquote>";
        break;
      case Block::Kind::list:
        out += block.ordered ? fmt::format("<ol start=\"{}\">", block.start) : std::string("<ul>");
        for (const auto& item : block.inner) out += drawn_item(item, block.tight);
        out += block.ordered ? "</ol>" : "</ul>";
        break;
      case Block::Kind::item:
        out += drawn(block.inner);
        break;
      case Block::Kind::table:
        out += drawn_table(block);
        break;
      case Block::Kind::rule:
        out += "<hr>";
        break;
    }
  return out;
}

std::string drawn_line(const render::DiffLine& line) {
  const char* kind = line.change == render::Change::add      ? "a"
                     : line.change == render::Change::remove ? "d"
                                                             : "";
  const auto number = [](std::size_t n) { return n > 0 ? std::to_string(n) : std::string(); };
  return fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}{}</td></tr>", kind,
                     number(line.old_number), number(line.new_number),
                     line.change == render::Change::keep ? ' ' : static_cast<char>(line.change),
                     drawn(line.words), line.no_newline ? " <i>(no newline at the end)</i>" : "");
}

std::string drawn_file(const render::FileDiff& diff) {
  std::string out = "<div class=\"diff\"><p>" + drawn(render::title_of(diff)) + "</p><table>";
  for (const auto& hunk : diff.hunks) {
    if (hunk.unchanged_before > 0)
      out += fmt::format("<tr class=\"skip\"><td colspan=\"4\">{} unchanged line{}</td></tr>",
                         hunk.unchanged_before, hunk.unchanged_before == 1 ? "" : "s");
    for (const auto& line : hunk.lines) out += drawn_line(line);
  }
  if (diff.cut) out += "<tr class=\"skip\"><td colspan=\"4\">more is not shown</td></tr>";
  return out + "</table></div>";
}

}  // namespace

std::string rich_text(std::string_view markdown, render::Breaks breaks) {
  return drawn(render::parse_markdown(markdown, {breaks}));
}

std::string highlighted(std::string_view language, std::string_view code) {
  const auto* known = render::find_language(language);
  if (!known || code.size() > kColouredBytesMax) return escaped(code);
  std::string out;
  for (const auto& line : render::highlight(known, code)) out += drawn(line) + "\n";
  if (!code.ends_with('\n') && !out.empty()) out.pop_back();
  return out;
}

std::string drawn_diff(std::string_view unified) {
  std::string out;
  for (const auto& change : render::read_changes(unified))
    out += drawn_file(render::diff_of(change));
  return out;
}

}  // namespace reef::exchange::html
