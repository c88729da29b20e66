#include "local/notes.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"
#include "local/words.h"

namespace reef::local {
namespace {

constexpr std::size_t kNameWords = 5;
constexpr std::size_t kNameWordsMax = 12;
constexpr std::size_t kNameCharsMax = 60;
constexpr std::size_t kLongNameBytesMax = 120;
// For scripts without spaces.
constexpr std::size_t kWideNameChars = 20;

// Returns no words in a script without spaces, whose pairs are not words.
std::vector<std::string> naming_words(std::string_view content) {
  Words words;
  std::vector<std::string> out;
  for (const auto& place : words.places(content)) {
    if (place.pair) return {};
    if (!place.empty && out.size() < kNameWordsMax) out.push_back(utf8::lower_ascii(place.text));
  }
  return out;
}

std::string join(const std::vector<std::string>& words, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < std::min(count, words.size()); ++i) {
    if (i > 0) out += ' ';
    out += words[i];
  }
  return out;
}

// FNV-1a, because names must be the same on every machine and in every version.
std::uint32_t checksum(std::string_view text) {
  std::uint32_t sum = 2166136261U;
  for (const char c : text) sum = (sum ^ static_cast<std::uint8_t>(c)) * 16777619U;
  return sum;
}

std::string plain(std::string_view text) {
  return utf8::lower_ascii(utf8::single_line(text));
}

// Reef names archives after their session and a number, and they cannot be forgotten. Archives with
// other names are noticed when `forget` fails.
bool is_archive_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::size_t kDateDigits = 6;
  const auto end = name.rfind('-');
  return name.find_first_not_of(kDigits) == kDateDigits && name[kDateDigits] == '-' &&
         end > kDateDigits && end + 1 < name.size() &&
         name.find_first_not_of(kDigits, end + 1) == std::string_view::npos;
}

// The only note that passes a test; `several` when there are more.
struct Only {
  const Note* note = nullptr;
  bool several = false;
};
template <class Test>
Only only_one(const std::vector<const Note*>& notes, const Test& is_like_that) {
  Only out;
  for (const auto* note : notes) {
    if (!is_like_that(*note)) continue;
    out.several = out.note != nullptr;
    if (out.several) return {nullptr, true};
    out.note = note;
  }
  return out;
}

// Measures how much the telling words say, in characters of a script without spaces; any other word
// counts as two.
constexpr std::size_t kWordSays = 2;
std::size_t says(std::string_view text, Words& words) {
  auto telling = words.telling(text);
  std::size_t sum = 0;
  for (const auto& place : words.places(text))
    if (telling.erase(place.stem) > 0) sum += place.pair ? 1 : kWordSays;
  return sum;
}

}  // namespace

std::string short_name(std::string_view content) {
  const auto words = join(naming_words(content), kNameWords);
  const auto line = utf8::single_line(utf8::printable(content));
  // A cut at a blank must not leave the blank at the end.
  return utf8::single_line(words.empty() ? prefix_letters(line, kWideNameChars)
                                         : prefix_letters(words, kNameCharsMax));
}

std::string free_name(std::string_view content, const std::vector<Note>& there, bool all_seen) {
  Words words;
  const auto name = short_name(content);
  const auto in_name = words.of(name);
  const auto is_taken = [&](const std::string& wanted) {
    return std::any_of(there.begin(), there.end(), [&](const Note& note) {
      return utf8::lower_ascii(note.name) == utf8::lower_ascii(wanted);
    });
  };
  // A note that shares no word was found by its alias, which is not shown and may equal the name.
  const bool by_alias = std::any_of(there.begin(), there.end(), [&](const Note& note) {
    return words.shared(in_name, note.name + "\n" + note.content).empty();
  });
  if (all_seen && !by_alias) {
    if (!is_taken(name)) return name;
    const auto all = naming_words(content);
    for (auto count = kNameWords + 1; count <= all.size(); ++count)
      if (auto longer = join(all, count); !is_taken(longer) && longer.size() <= kLongNameBytesMax)
        return longer;
  }
  // No other note has this name, and the same content gets the same name again.
  return fmt::format("{} {:08x}", name, checksum(content));
}

std::string as_name(std::string_view subject) {
  Words words;
  for (const auto& place : words.places(subject))
    if (!place.empty)
      return utf8::single_line(
          subject.substr(static_cast<std::size_t>(place.text.data() - subject.data())));
  return {};
}

Meant meant_by(std::string_view subject, bool exact, const std::vector<Note>& found) {
  Words words;
  const auto wanted = words.of(subject);
  const auto text_of = [](const Note& note) { return note.name + "\n" + note.content; };
  Meant meant;
  std::vector<const Note*> notes;
  for (const auto& note : found) {
    // An exact name also finds a note that looks like an archive.
    if (note.name == subject) {
      meant.by = Meant::By::name;
      meant.note = &note;
      return meant;
    }
    if (!is_archive_name(note.name)) notes.push_back(&note);
  }
  std::vector<std::pair<std::size_t, const Note*>> near;
  for (const auto* note : notes)
    if (const auto shared = words.shared(wanted, text_of(*note)).size(); shared > 0)
      near.emplace_back(shared, note);
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [shared, note] : near) meant.nearest.push_back(note);

  // The tests run from the surest to the least sure; if several notes pass one, none is certain.
  const auto settle = [&](Meant::By by, const auto& is_like_that) {
    const auto only = only_one(notes, is_like_that);
    if (!only.note && !only.several) return false;
    meant.by = by;
    meant.note = only.note;
    return true;
  };
  const auto line = plain(subject);
  const auto name = plain(as_name(subject));
  if (settle(Meant::By::name, [&](const Note& note) {
        return plain(note.name) == line || (!exact && plain(note.name) == name);
      }))
    return meant;
  if (settle(Meant::By::name, [&](const Note& note) { return plain(note.content) == line; }))
    return meant;
  if (exact || wanted.empty()) return meant;
  if (settle(Meant::By::name, [&](const Note& note) { return words.of(note.name) == wanted; }))
    return meant;
  const auto said = says(subject, words);
  if (settle(Meant::By::name, [&](const Note& note) { return words.has_all(wanted, note.name); })) {
    // A small part of a name is not enough: the note may be about something else, too.
    if (meant.note && said * 2 < says(meant.note->name, words)) {
      meant.by = Meant::By::nothing;
      meant.note = nullptr;
    }
    return meant;
  }
  // A single word is in many contents by chance.
  if (said >= 2 * kWordSays)
    settle(Meant::By::content,
           [&](const Note& note) { return words.has_all(wanted, text_of(note)); });
  return meant;
}

}  // namespace reef::local
