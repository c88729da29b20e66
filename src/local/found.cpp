#include "local/found.h"

#include <algorithm>

namespace reef::local {
namespace {

constexpr std::string_view kBetween = "\n---\n";
constexpr std::string_view kHeading = "## ";
// A memory accepts no longer names.
constexpr std::size_t kNameBytesMax = 256;
constexpr std::string_view kUntitled = "(untitled)";

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Returns the value after `name`, up to " · " or the end of the line.
std::string_view value_of(std::string_view line, std::string_view name) {
  auto at = line.find(name);
  if (at == std::string_view::npos) return {};
  at += name.size();
  return line.substr(at, line.find(" · ", at) - at);
}

// Tells whether a part may begin here: a heading with a name and a line after it.
bool is_heading(std::string_view text) {
  if (!text.starts_with(kHeading)) return false;
  const auto end = text.find('\n');
  return end != std::string_view::npos && end > kHeading.size() &&
         end - kHeading.size() <= kNameBytesMax;
}

// Splits the text into parts that begin with a heading. A "---" inside a content does not begin a
// part, nor does one right after a heading, where an empty content has an empty line.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  for (auto cut = text.find(kBetween); cut != std::string_view::npos;
       cut = text.find(kBetween, cut + 1)) {
    const auto next = cut + kBetween.size();
    if (cut <= text.find('\n', begin) || !is_heading(text.substr(next))) continue;
    out.push_back(text.substr(begin, cut + 1 - begin));
    begin = next;
  }
  out.push_back(text.substr(begin));
  return out;
}

}  // namespace

std::vector<Note> notes_in(std::string_view text) {
  std::vector<Note> notes;
  for (auto part : parts_of(text)) {
    if (!part.starts_with(kHeading)) continue;
    const auto name = take_line(part).substr(kHeading.size());
    while (part.ends_with('\n')) part.remove_suffix(1);
    notes.push_back(Note{std::string(name), std::string(part)});
  }
  return notes;
}

std::string name_of_content(std::string_view text, std::string_view content) {
  const auto ends_part = [&](std::string_view rest) {
    return rest.empty() || (rest.starts_with(kBetween) && is_heading(rest.substr(kBetween.size())));
  };
  std::size_t begin = 0;  // where the part begins
  while (begin < text.size()) {
    const auto part = text.substr(begin);
    const auto line = part.substr(0, part.find('\n'));
    const auto behind = part.substr(std::min(line.size() + 1, part.size()));
    if (is_heading(part) && behind.starts_with(content) && ends_part(behind.substr(content.size())))
      return std::string(line.substr(kHeading.size()));
    const auto cut = text.find(kBetween, begin);
    if (cut == std::string_view::npos) break;
    begin = cut + kBetween.size();
  }
  return {};
}

bool is_kept(std::string_view failure) {
  return failure.find("is not a note") != std::string_view::npos;
}

bool is_missing(std::string_view failure) {
  return failure.starts_with("no entry named");
}

std::vector<Passage> passages_in(std::string_view text) {
  constexpr std::string_view kMatched = "matched message #";
  constexpr std::string_view kTitle = "title";
  std::vector<Passage> out;
  for (auto part : parts_of(text)) {
    if (!part.starts_with(kHeading)) continue;
    Passage passage;
    passage.title = std::string(take_line(part).substr(kHeading.size()));
    if (passage.title == kUntitled) passage.title.clear();
    passage.session = std::string(value_of(take_line(part), "session: "));
    const auto facts = take_line(part);
    // The text is "user #2", or "summary", which has no number.
    const auto number = value_of(facts, kMatched);
    const auto wanted =
        number.empty() ? std::string(value_of(facts, "matched the ")) : " #" + std::string(number);
    passage.date = std::string(value_of(facts, "said: ").substr(0, 10));
    bool found = false;
    while (!part.empty()) {
      const auto line = take_line(part);
      const auto at = line.find("] ");
      if (!line.starts_with("- [") || at == std::string_view::npos) continue;
      const auto label = line.substr(3, at - 3);
      if (label == kTitle) continue;  // nobody said it
      const auto said = line.substr(at + 2);
      if (!found && !wanted.empty() && label.ends_with(wanted)) {
        passage.matched = passage.lines.size();
        found = true;
      }
      passage.lines.push_back({std::string(label.substr(0, label.find(" #"))), std::string(said)});
    }
    if (found) out.push_back(std::move(passage));
  }
  return out;
}

}  // namespace reef::local
