#include "render/diff.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "render/code.h"
#include "render/width.h"
#include "render/wrap.h"

namespace reef::render {
namespace {

// A line is marked word by word only when so much of it stays.
constexpr double kAlike = 0.35;
constexpr std::size_t kMarkedBytesMax = 4U << 10;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Words, spans of spaces, and every other sign by itself.
std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    std::size_t size = 1;
    if (is_word(text[0])) {
      while (size < text.size() && is_word(text[size])) ++size;
    } else if (text[0] == ' ') {
      while (size < text.size() && text[size] == ' ') ++size;
    }
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

struct Stretch {
  std::size_t from, to;
};

void mark(Line& line, const std::vector<Stretch>& stretches) {
  Line out;
  std::size_t at = 0;
  for (const auto& span : line) {
    std::string_view rest = span.text;
    while (!rest.empty()) {
      bool changed = false;
      auto end = at + rest.size();
      for (const auto& stretch : stretches) {
        if (stretch.to <= at) continue;
        changed = stretch.from <= at;
        end = std::min(end, changed ? stretch.to : stretch.from);
        break;
      }
      auto style = span.style;
      style.changed = changed;
      add(out, rest.substr(0, end - at), style, span.link);
      rest.remove_prefix(end - at);
      at = end;
    }
  }
  line = std::move(out);
}

// The text of a line for people: without its newline, everything in it visible.
std::string shown(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string out;
  for (const char c : utf8::visible(line))
    if (c == '\t') {
      out += "    ";
    } else {
      out += c;
    }
  return out;
}

// Marks the words of lines that came in the place of others, line by line where they are as many.
void mark_hunk(Hunk& hunk) {
  auto& lines = hunk.lines;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].change != Change::remove) {
      ++i;
      continue;
    }
    auto gone = i;
    while (i < lines.size() && lines[i].change == Change::remove) ++i;
    auto come = i;
    while (i < lines.size() && lines[i].change == Change::add) ++i;
    const auto pairs = std::min(come - gone, i - come);
    // Nobody can say of more lines than that which became which.
    if (come - gone != i - come && pairs > 1) continue;
    for (std::size_t p = 0; p < pairs; ++p)
      mark_words(lines[gone + p].words, lines[come + p].words);
  }
}

std::size_t digits(std::size_t number) {
  return std::to_string(number).size();
}

}  // namespace

void mark_words(Line& removed, Line& added) {
  const auto before = plain(removed);
  const auto after = plain(added);
  if (before.size() + after.size() > kMarkedBytesMax) return;
  const auto a = words_in(before);
  const auto b = words_in(after);
  const auto steps = compare(a, b);
  std::size_t x = 0, y = 0, in_a = 0, in_b = 0, kept = 0, letters = 0;
  std::vector<Stretch> gone, come;
  const auto grow = [](std::vector<Stretch>& stretches, std::size_t at, std::size_t size) {
    if (!stretches.empty() && stretches.back().to == at) {
      stretches.back().to += size;
    } else {
      stretches.push_back({at, at + size});
    }
  };
  const auto weight = [](std::string_view word) {
    return word.find_first_not_of(' ') == std::string_view::npos ? 0 : word.size();
  };
  for (const auto change : steps) {
    if (change == Change::add) {
      grow(come, in_b, b[y].size());
    } else {
      letters += weight(a[x]);
      if (change == Change::remove) grow(gone, in_a, a[x].size());
      if (change == Change::keep) kept += weight(a[x]);
    }
    if (change != Change::add) in_a += a[x++].size();
    if (change != Change::remove) in_b += b[y++].size();
  }
  std::size_t others = 0;
  for (const auto word : b) others += weight(word);
  const auto most = std::max(letters, others);
  if (most == 0 || static_cast<double>(kept) < kAlike * static_cast<double>(most)) return;
  mark(removed, gone);
  mark(added, come);
}

FileDiff diff_of(const FileChange& file, const DiffOptions& options) {
  FileDiff out;
  out.old_name = utf8::single_line(utf8::visible(file.old_name));
  out.new_name = utf8::single_line(utf8::visible(file.new_name));
  out.cut = file.cut;
  out.added = file.added();
  out.removed = file.removed();
  using Kind = FileDiff::Kind;
  if (file.binary) {
    out.kind = Kind::binary;
    return out;
  }
  if (file.cut && file.steps.empty()) {
    out.kind = Kind::too_large;
    return out;
  }
  out.kind = file.old_name.empty()            ? Kind::created
             : file.new_name.empty()          ? Kind::removed
             : file.old_name != file.new_name ? Kind::renamed
                                              : Kind::changed;

  const auto* language =
      options.colours ? language_of_file(file.new_name.empty() ? file.old_name : file.new_name)
                      : nullptr;
  const auto& steps = file.steps;
  // The steps that are shown: changes, and the lines around them.
  std::vector<bool> is_shown(steps.size(), false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].change == Change::keep) continue;
    for (auto j = i, n = std::size_t{0}; n <= options.around; ++n, --j) {
      if (steps[j].unknown > 0) break;
      is_shown[j] = true;
      if (j == 0) break;
    }
    for (auto j = i + 1; j < steps.size() && j <= i + options.around && steps[j].unknown == 0; ++j)
      is_shown[j] = true;
  }
  // A line of the old file and one of the new are coloured as what stands in front of them is.
  Highlighter old_colours(language), new_colours(language);
  std::size_t old_number = 0, new_number = 0, skipped = 0, lines = 0;
  bool in_hunk = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    if (step.unknown > 0) {
      old_number += step.unknown;
      new_number += step.unknown;
      skipped += step.unknown;
      in_hunk = false;
      old_colours = new_colours = Highlighter(language);
      continue;
    }
    const auto text = shown(step.line);
    if (step.change != Change::add) ++old_number;
    if (step.change != Change::remove) ++new_number;
    Line words;
    if (step.change == Change::remove) {
      words = old_colours.next(text);
    } else {
      words = new_colours.next(text);
      if (step.change == Change::keep) old_colours = new_colours;
    }
    if (!is_shown[i]) {
      ++skipped;
      in_hunk = false;
      continue;
    }
    if (++lines > options.lines_max) {
      out.cut = true;
      break;
    }
    if (!in_hunk) {
      out.hunks.push_back(Hunk{skipped, {}});
      skipped = 0;
      in_hunk = true;
    }
    out.hunks.back().lines.push_back(DiffLine{step.change,
                                              step.change == Change::add ? 0 : old_number,
                                              step.change == Change::remove ? 0 : new_number,
                                              std::move(words), !step.line.ends_with('\n')});
  }
  for (auto& hunk : out.hunks) mark_hunk(hunk);
  return out;
}

Line title_of(const FileDiff& diff) {
  using Kind = FileDiff::Kind;
  Line out;
  const Style heading{.role = Role::heading, .bold = true};
  if (diff.kind == Kind::created) add(out, "new file ", kMark);
  if (diff.kind == Kind::removed) add(out, "removed ", kMark);
  add(out, diff.old_name.empty() ? diff.new_name : diff.old_name, heading);
  if (!diff.old_name.empty() && !diff.new_name.empty() && diff.old_name != diff.new_name) {
    add(out, " → ", kMark);
    add(out, diff.new_name, heading);
  }
  if (diff.kind == Kind::binary) {
    add(out, "  binary", kMark);
  } else if (diff.kind == Kind::too_large) {
    add(out, "  too large to compare", kMark);
  } else {
    if (diff.added > 0) add(out, fmt::format("  +{}", diff.added), Style{.role = Role::added});
    if (diff.removed > 0)
      add(out, fmt::format("  -{}", diff.removed), Style{.role = Role::removed});
  }
  return out;
}

std::vector<Line> lay_out(const FileDiff& diff, std::size_t width) {
  std::size_t largest = 1;
  for (const auto& hunk : diff.hunks)
    for (const auto& line : hunk.lines)
      largest = std::max({largest, line.old_number, line.new_number});
  const auto number_cells = digits(largest);
  const auto used = number_cells + 3;  // the number, a space, the sign, a space
  const auto room = width > used + 8 ? width - used : std::max<std::size_t>(width, 8);
  const bool numbers = width > used + 8;
  std::vector<Line> out;
  for (const auto& hunk : diff.hunks) {
    if (hunk.unchanged_before > 0) {
      Line line;
      add(line,
          fmt::format("⋯ {} unchanged line{}", hunk.unchanged_before,
                      hunk.unchanged_before == 1 ? "" : "s"),
          kMark);
      out.push_back(std::move(line));
    }
    for (const auto& one : hunk.lines) {
      const auto role = one.change == Change::add      ? Role::added
                        : one.change == Change::remove ? Role::removed
                                                       : Role::plain;
      const auto number = one.new_number > 0 ? one.new_number : one.old_number;
      auto parts = cut(one.words, numbers ? room : room - 2);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        Line line;
        if (numbers)
          add(line,
              i == 0 ? fmt::format("{:>{}} ", number, number_cells)
                     : std::string(number_cells + 1, ' '),
              kMark);
        add(line, fmt::format("{} ", i == 0 ? static_cast<char>(one.change) : ' '),
            Style{.role = role});
        for (auto& span : parts[i]) {
          // Changed words are seen by their colour; the others keep that of their language.
          if (role != Role::plain && span.style.role == Role::plain) span.style.role = role;
          add(line, span.text, span.style, span.link);
        }
        out.push_back(std::move(line));
      }
      if (one.no_newline) {
        Line line;
        add(line, "\\ no newline at the end", kMark);
        out.push_back(std::move(line));
      }
    }
  }
  if (diff.cut) {
    Line line;
    add(line, "⋯ more is not shown", kMark);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace reef::render
