// Makes transcripts without the engine, which is quicker for many. Nothing is synced.
#pragma once

#include <cstddef>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "session/entry.h"

namespace reef::benchmarks {

session::Draft user_says(std::string text);
session::Draft assistant_says(std::string text);

// The bytes of a transcript, entry after entry.
class TranscriptText {
 public:
  TranscriptText(const session::SessionId& id, TimePoint time, Random& random);
  // Attaches the entry to the one before.
  session::EntryId add(session::Draft draft);
  const std::string& bytes() const { return bytes_; }

 private:
  TimePoint time_;
  Random& random_;
  std::string bytes_;
  std::optional<session::EntryId> leaf_;
};

// Writes <sessions>/<id>/session.jsonl.
Status write_transcript(const std::string& sessions, const session::SessionId& id,
                        std::string_view bytes);

// One of many sessions with two turns each and a key of its own; the same number gives the same
// session. Every hundredth has the same topic, every tenth has the status todo and the label x.
inline constexpr std::size_t kLabelledEvery = 10;
session::SessionId small_session_id(std::size_t number);
std::string small_transcript(std::size_t number);
std::string topic_of(std::size_t number);

}  // namespace reef::benchmarks
