// Reads the bytes of a transcript, whatever state they are in. Pure: it opens no files and never
// fails, but lists what is wrong and keeps what can be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "session/entry.h"

namespace reef::session {

struct Damage {
  enum class Kind : std::uint8_t {
    no_header,     // line 1 is not a session header
    bad_line,      // not JSON, or JSON without a type
    glued_line,    // an entry written straight after a fragment; the entry was saved
    torn_tail,     // the last line has no newline and is not a whole entry
    unended_tail,  // the last line is a whole entry but has no newline
    missing_id,    // the entry got an id made from its line number
    duplicate_id,
    missing_parent,  // no parentId, or one that no earlier line has; attached to its predecessor
    second_header,
  };
  Kind kind;
  std::size_t line;      // counted from 1
  std::uint64_t offset;  // of the line's first byte
  std::string what;      // for a person
};
std::string_view name_of(Damage::Kind kind);

struct Reading {
  std::optional<Header> header;
  std::vector<Entry> entries;  // parents always stand before their children
  std::vector<Damage> damage;
  std::uint64_t whole_bytes = 0;  // up to and including the last newline
  bool tail_is_entry = false;     // an entry that lacks its newline follows whole_bytes
};

Reading read_transcript(std::string_view bytes);

// Reads the same a piece at a time.
class TranscriptReader {
 public:
  // Consumes whole lines and returns how many bytes they had. `final` says that nothing follows, so
  // that an unended last line is judged now.
  std::size_t feed(std::string_view bytes, bool final);
  Reading& reading() { return reading_; }

 private:
  void line(std::string_view text, bool ended);
  void place(Entry entry, bool has_parent_field);
  bool take_object(std::string_view text, bool glued);
  void report(Damage::Kind kind, std::string what);

  Reading reading_;
  std::unordered_map<std::string, std::size_t> seen_;  // id -> index of its latest entry
  std::uint64_t offset_ = 0;
  std::size_t line_ = 0;
};

}  // namespace reef::session
