// Transcript bytes to what can be searched. Pure; runs on the pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recall/document.h"

namespace reef::recall {

struct Read {
  std::uint64_t offset = 0;  // of the line
  TimePoint time;
  std::string entry;
  Said said;
};

// One line, without its newline. nullopt: nothing to find in it.
std::optional<Read> read_line(std::string_view line, std::uint64_t offset);
// The same for any line at all, and slower.
std::optional<Read> read_tree(std::string_view line, std::uint64_t offset);

struct Piece {
  std::vector<Read> documents;
  std::uint64_t bytes = 0;         // of whole lines, consumed
  std::vector<std::string> cut{};  // entries of which not every word is there
  // Silent replies whose hiding (session/message.h) goes on before this piece: for each, how many
  // words of the user are still to be passed.
  std::vector<std::int64_t> hides{};
};
// Whether what led to a silent reply is hidden with it; of the user's words, `words` are still to
// be passed on the way back. Call with one message after the other, backwards, while it is above 0.
bool is_hidden_by_reply(Role role, std::int64_t& words);

// For the index; `bytes` stand at `offset` of the transcript. Of a message that is longer than
// search::kWordsMax words, what follows is there as its different words, each once: while a message
// is taken in everybody waits.
Piece read_piece(std::string_view bytes, std::uint64_t offset);

}  // namespace reef::recall
