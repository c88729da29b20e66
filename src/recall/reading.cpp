#include "recall/reading.h"

#include "recall/peek.h"

namespace reef::recall {

namespace {

Field field_of(Role role) {
  return role == Role::user ? Field::user : role == Role::tool ? Field::tool : Field::assistant;
}

}  // namespace

std::optional<Read> read_line(std::string_view line, std::uint64_t offset) {
  if (line.size() < 2) return std::nullopt;
  // Nearly all are plain messages, for which no tree has to be made.
  if (Peek peeked; peek(line, SIZE_MAX - 1, peeked)) {
    if (peeked.hidden) return std::nullopt;
    Said said;
    said.role = peeked.role;
    said.tool = std::move(peeked.tool);
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

Piece read_piece(std::string_view bytes, std::uint64_t offset) {
  Piece out;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    if (auto read = read_line(bytes.substr(0, end), offset + out.bytes))
      out.documents.push_back(*std::move(read));
    out.bytes += end + 1;
    bytes.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace reef::recall
