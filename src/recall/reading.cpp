#include "recall/reading.h"

#include <unordered_set>

#include "recall/peek.h"
#include "search/tokenizer.h"

namespace reef::recall {

namespace {

Field field_of(Role role) {
  return role == Role::user ? Field::user : role == Role::tool ? Field::tool : Field::assistant;
}

// The most different words kept beyond the first search::kWordsMax; a book has a tenth of them.
constexpr std::size_t kLateWordsMax = 200'000;

// Returns false when some words had to be left out.
bool shorten(std::string& text) {
  // A word and its separator take at least two bytes.
  if (text.size() < std::size_t{2} * search::kWordsMax) return true;
  search::Tokenizer tokenizer;
  tokenizer.tokenize(text);
  const auto counted = tokenizer.stopped();
  std::unordered_set<std::string> known;
  std::string rest;
  for (auto late = std::string_view(text).substr(counted); !late.empty();
       late.remove_prefix(tokenizer.stopped()))
    for (const auto& token : tokenizer.tokenize(late)) {
      const auto [term, is_new] = known.emplace(tokenizer.term(token));
      // Appends the word as written, since a term may be tokenized differently. A word long enough
      // to be cut is appended as its term.
      const auto written = late.substr(token.begin, token.end - token.begin);
      constexpr std::size_t kWrittenBytesMax = 4 * search::kTermBytesMax;
      if (is_new) rest.append(" ").append(written.size() > kWrittenBytesMax ? *term : written);
      if (known.size() > kLateWordsMax) {
        text.replace(counted, std::string::npos, rest);
        return false;
      }
    }
  text.replace(counted, std::string::npos, rest);
  return true;
}

}  // namespace

std::optional<Read> read_line(std::string_view line, std::uint64_t offset) {
  if (line.size() < 2) return std::nullopt;
  // Nearly all lines are plain messages, which need no tree.
  if (Peek peeked; peek(line, SIZE_MAX - 1, peeked)) {
    if (peeked.hidden) return std::nullopt;
    Said said;
    said.role = peeked.role;
    said.tool = std::move(peeked.tool);
    if (said.role == Role::assistant) said.agent = std::move(peeked.agent);
    said.parts.push_back(Said::Part{field_of(said.role), std::move(peeked.text)});
    return Read{offset, parse_iso(peeked.time).value_or(TimePoint()), std::move(peeked.entry),
                std::move(said)};
  }
  return read_tree(line, offset);
}

std::optional<Read> read_tree(std::string_view line, std::uint64_t offset) {
  auto parsed = json::parse_lenient(line);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const auto entry = session::entry_from(std::move(parsed->get_object()));
  if (!entry) return std::nullopt;
  auto said = said_in(*entry);
  if (!said) return std::nullopt;
  return Read{offset, entry->time, entry->id.text, *std::move(said)};
}

bool is_hidden_by_reply(Role role, std::int64_t& words) {
  if (role == Role::user) --words;
  return role == Role::assistant || role == Role::tool;
}

namespace {

// For lines that have nothing to search for.
std::int64_t hides_in(std::string_view line) {
  if (line.find(R"("hides":)") == std::string_view::npos) return 0;
  auto parsed = json::parse_lenient(line);
  if (!parsed || !parsed->is_object()) return 0;
  const auto entry = session::entry_from(std::move(parsed->get_object()));
  return entry ? session::hides(*entry) : 0;
}

void hide(Piece& piece, std::int64_t words) {
  auto& all = piece.documents;
  for (auto i = all.size(); i > 0 && words > 0; --i)
    if (is_hidden_by_reply(all[i - 1].said.role, words))
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  if (words > 0) piece.hides.push_back(words);
}

}  // namespace

Piece read_piece(std::string_view bytes, std::uint64_t offset) {
  Piece out;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    const auto line = bytes.substr(0, end);
    if (auto read = read_line(line, offset + out.bytes)) {
      bool whole = true;
      for (auto& part : read->said.parts) whole = shorten(part.text) && whole;
      if (!whole) out.cut.push_back(read->entry);
      out.documents.push_back(*std::move(read));
    } else if (const auto words = hides_in(line); words > 0) {
      hide(out, words);
    }
    out.bytes += end + 1;
    bytes.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace reef::recall
