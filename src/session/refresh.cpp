#include "session/refresh.h"

#include "session/reader.h"

namespace reef::session {
namespace {

// Folds the lines that follow what `row` covers; false when one of them is not a plain entry.
bool fold_lines(Row& row, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) return false;
    auto parsed = json::parse_lenient(bytes.substr(0, end));
    if (!parsed || !parsed->is_object() || header_from(parsed->get_object())) return false;
    auto entry = entry_from(std::move(parsed->get_object()));
    if (!entry || entry->id.text.empty()) return false;
    fold(row, *entry);
    bytes.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

Result<Row> refresh_row(const ByteSource& source, Refresh request) {
  if (request.known && request.known->damage == 0 && request.known->bytes > 0 &&
      request.known->bytes <= source.size) {
    auto row = *std::move(request.known);
    // Unless the byte before the new ones still ends a line, this is another file by now.
    REEF_TRY(const auto fresh, source.read(row.bytes - 1, source.size - row.bytes + 1));
    if (!fresh.empty() && fresh.front() == '\n' &&
        fold_lines(row, std::string_view(fresh).substr(1))) {
      row.bytes = source.size;
      return row;
    }
  }
  REEF_TRY(const auto bytes, source.read(0, source.size));
  return make_row(std::move(request.id), bytes);
}

}  // namespace reef::session
