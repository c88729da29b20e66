#include "render/wrap.h"

#include <algorithm>

#include "render/width.h"

namespace reef::render {
namespace {

struct Piece {
  std::string_view bytes;
  const Span* span = nullptr;
  std::size_t cells = 0;
  bool space = false;
  bool newline = false;
  bool after = false;  // a line may end behind it
  bool soft = false;   // a line may end behind it when the word is too long
};

bool is_ideograph(std::string_view grapheme, std::size_t cells) {
  return cells == 2 && static_cast<unsigned char>(grapheme.front()) >= 0xE2;
}

bool separates(char c) {
  return c == '/' || c == '?' || c == '&' || c == '=' || c == '_' || c == '.' || c == ',' ||
         c == ':' || c == ';' || c == '\\' || c == '|' || c == '%' || c == '#' || c == '+';
}

std::vector<Piece> pieces_of(const Line& line) {
  std::vector<Piece> out;
  for (const auto& span : line) {
    std::string_view rest = span.text;
    while (!rest.empty()) {
      const auto next = first_grapheme(rest);
      Piece piece{next.bytes, &span, next.cells};
      const char c = next.bytes.front();
      piece.space = c == ' ' || c == '\t';
      piece.newline = c == '\n';
      // A minus in front of a word belongs to it, as in the options of commands.
      const bool in_word =
          !out.empty() && !out.back().space && !out.back().newline && out.back().bytes != "-";
      piece.after = (c == '-' && in_word) || is_ideograph(next.bytes, next.cells);
      piece.soft = separates(c);
      if (piece.after && c != '-' && !out.empty())
        out.back().after = out.back().after || !out.back().space;
      out.push_back(piece);
      rest.remove_prefix(next.bytes.size());
    }
  }
  return out;
}

Line line_from(const std::vector<Piece>& pieces, std::size_t from, std::size_t to) {
  Line out;
  for (auto i = from; i < to; ++i)
    add(out, pieces[i].bytes, pieces[i].span->style, pieces[i].span->link);
  return out;
}

}  // namespace

std::vector<Line> wrap(const Line& line, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  const auto pieces = pieces_of(line);
  std::vector<Line> out;
  std::size_t from = 0;   // where the line begins
  std::size_t cells = 0;  // of the line up to i
  std::size_t hard = 0;   // the last place a line may end at, if behind `from`
  std::size_t soft = 0;
  bool words = false;  // other than spaces, on the line up to i
  const auto end_at = [&](std::size_t to, std::size_t next) {
    auto stop = to;
    while (stop > from && pieces[stop - 1].space) --stop;
    out.push_back(line_from(pieces, from, stop));
    from = next;
    // Spaces where a line was broken are not seen; those that begin a line of their own are.
    hard = soft = from;
    cells = 0;
    words = false;
  };
  for (std::size_t i = 0; i < pieces.size();) {
    const auto& piece = pieces[i];
    if (piece.newline) {
      // Text in front of a newline is kept whole but for its spaces.
      end_at(i, i + 1);
      ++i;
      continue;
    }
    if (cells + piece.cells > width && i > from && !piece.space) {
      auto to = i;
      if (hard > from) {
        to = hard;
      } else if (soft > from) {
        to = soft;
      }
      auto next = to;
      while (next < i && pieces[next].space) ++next;
      end_at(to, next);
      for (auto j = from; j < i; ++j) {
        cells += pieces[j].cells;
        words = words || !pieces[j].space;
      }
      continue;
    }
    cells += piece.cells;
    ++i;
    words = words || !piece.space;
    if (piece.space) {
      // Spaces that do not fit hang over the edge, unseen; those a line begins with are no end.
      if (words) hard = i;
    } else if (piece.after) {
      hard = i;
    } else if (piece.soft) {
      soft = i;
    }
  }
  auto stop = pieces.size();
  if (!out.empty() || width < cells)
    while (stop > from && pieces[stop - 1].space) --stop;
  if (stop > from || out.empty()) out.push_back(line_from(pieces, from, stop));
  return out;
}

std::vector<Line> cut(const Line& line, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  std::vector<Line> out(1);
  std::size_t cells = 0;
  for (const auto& span : line) {
    std::string_view rest = span.text;
    while (!rest.empty()) {
      auto part = prefix_of_width(rest, width - cells);
      if (part.empty() && cells == 0) part = first_grapheme(rest).bytes;
      add(out.back(), part, span.style, span.link);
      cells += render::width(part);
      rest.remove_prefix(part.size());
      if (rest.empty()) break;
      out.emplace_back();
      cells = 0;
    }
  }
  return out;
}

}  // namespace reef::render
