#include "render/text.h"

namespace reef::render {

void add(Line& line, std::string_view text, const Style& style, std::string_view link) {
  if (text.empty()) return;
  if (!line.empty() && line.back().style == style && line.back().link == link) {
    line.back().text += text;
  } else {
    line.push_back(Span{std::string(text), style, std::string(link)});
  }
}

std::string plain(const Line& line) {
  std::string out;
  for (const auto& span : line) out += span.text;
  return out;
}

std::string plain(const std::vector<Line>& lines) {
  std::string out;
  for (const auto& line : lines) out += plain(line) + "\n";
  return out;
}

}  // namespace reef::render
