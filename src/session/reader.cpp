#include "session/reader.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"

namespace reef::session {
namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";

}  // namespace

std::string_view name_of(Damage::Kind kind) {
  switch (kind) {
    case Damage::Kind::no_header:
      return "no_header";
    case Damage::Kind::bad_line:
      return "bad_line";
    case Damage::Kind::glued_line:
      return "glued_line";
    case Damage::Kind::torn_tail:
      return "torn_tail";
    case Damage::Kind::unended_tail:
      return "unended_tail";
    case Damage::Kind::missing_id:
      return "missing_id";
    case Damage::Kind::duplicate_id:
      return "duplicate_id";
    case Damage::Kind::missing_parent:
      return "missing_parent";
    case Damage::Kind::second_header:
      return "second_header";
  }
  return "unknown";
}

void TranscriptReader::report(Damage::Kind kind, std::string what) {
  reading_.damage.push_back(Damage{kind, line_, offset_, std::move(what)});
}

void TranscriptReader::place(Entry entry, bool has_parent_field) {
  if (entry.id.text.empty()) {
    entry.id.text = fmt::format("line-{}", line_);
    // Version 1 files have no ids at all and are a linear chain; that is no damage.
    if (reading_.header && reading_.header->version == 1) {
      // An index into the file's objects, where the header is 0; we turn it into an id as pi does.
      const auto kept = json::find_int(entry.body, "firstKeptEntryIndex").value_or(0);
      if (kept > 0 && static_cast<std::size_t>(kept) <= reading_.entries.size())
        entry.body["firstKeptEntryId"] =
            reading_.entries[static_cast<std::size_t>(kept) - 1].id.text;
      entry.parent.reset();
      if (!reading_.entries.empty()) entry.parent = reading_.entries.back().id;
      has_parent_field = true;
    } else {
      report(Damage::Kind::missing_id, "entry without an id");
    }
  }
  const bool dangling = entry.parent && !seen_.contains(entry.parent->text);
  if (!has_parent_field || dangling) {
    const auto what =
        dangling ? fmt::format("parent {} of entry {} is not above it",
                               utf8::excerpt(entry.parent->text), utf8::excerpt(entry.id.text))
                 : fmt::format("entry {} has no parentId", utf8::excerpt(entry.id.text));
    if (reading_.entries.empty()) {
      entry.parent.reset();
      if (dangling) report(Damage::Kind::missing_parent, what);
    } else {
      entry.parent = reading_.entries.back().id;
      report(Damage::Kind::missing_parent, what);
    }
  }
  const auto [at, fresh] = seen_.insert_or_assign(entry.id.text, reading_.entries.size());
  if (!fresh)
    report(Damage::Kind::duplicate_id, fmt::format("id {} stands twice", utf8::excerpt(at->first)));
  reading_.entries.push_back(std::move(entry));
}

bool TranscriptReader::take_object(std::string_view text, bool glued) {
  auto parsed = json::parse_lenient(text);
  if (!parsed || !parsed->is_object()) return false;
  auto& body = parsed->get_object();
  if (auto header = header_from(body)) {
    if (reading_.header) {
      report(Damage::Kind::second_header, "a second session header");
    } else {
      if (!reading_.entries.empty())
        report(Damage::Kind::no_header, "the session header stands after entries");
      reading_.header = std::move(header);
    }
    return true;
  }
  const bool has_parent_field = body.contains("parentId");
  auto entry = entry_from(std::move(body));
  if (!entry) return false;
  if (glued) report(Damage::Kind::glued_line, "an entry follows a fragment on the same line");
  if (!reading_.header && reading_.entries.empty())
    report(Damage::Kind::no_header, "entries come before a session header");
  place(std::move(*entry), has_parent_field);
  return true;
}

void TranscriptReader::line(std::string_view raw, bool ended) {
  ++line_;
  auto text = raw;
  if (offset_ == 0 && text.starts_with(kBom)) text.remove_prefix(kBom.size());
  text = trim(text, kBlanks);
  if (text.empty()) return;

  if (take_object(text, false)) {
    if (!ended) {
      reading_.tail_is_entry = true;
      report(Damage::Kind::unended_tail, "the last line has no newline");
    }
    return;
  }
  // A writer that did not look appended behind a torn line: look for whole objects in it.
  std::size_t from = 1;
  bool saved = false;
  for (int tries = 0; tries < 64; ++tries) {
    const auto start = text.find("{\"type\":", from);
    if (start == std::string_view::npos) break;
    // An object ends with the line, or where the next one begins.
    const auto next = text.find("{\"type\":", start + 1);
    if (take_object(text.substr(start), true)) {
      saved = true;
      break;
    }
    if (next != std::string_view::npos && take_object(text.substr(start, next - start), true))
      saved = true;
    from = start + 1;
  }
  if (!ended && !saved) {
    report(Damage::Kind::torn_tail, fmt::format("torn last line of {} bytes", raw.size()));
  } else {
    report(Damage::Kind::bad_line, fmt::format("not an entry: {}", utf8::excerpt(text)));
  }
}

std::size_t TranscriptReader::feed(std::string_view bytes, bool final) {
  std::size_t used = 0;
  for (;;) {
    const auto end = bytes.find('\n', used);
    if (end == std::string_view::npos) break;
    line(bytes.substr(used, end - used), true);
    offset_ += end + 1 - used;
    used = end + 1;
    reading_.whole_bytes = offset_;
  }
  if (final && used < bytes.size()) line(bytes.substr(used), false);
  return used;
}

Reading read_transcript(std::string_view bytes) {
  TranscriptReader reader;
  reader.feed(bytes, true);
  auto& reading = reader.reading();
  if (!reading.header && reading.entries.empty() && reading.damage.empty())
    reading.damage.push_back(Damage{Damage::Kind::no_header, 1, 0, "no session header"});
  return std::move(reading);
}

}  // namespace reef::session
