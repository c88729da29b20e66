// Reads the searchable messages out of transcript bytes. Pure; runs on the pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recall/document.h"

namespace reef::recall {

struct Read {
  std::uint64_t offset = 0;  // where the line begins
  TimePoint time;
  std::string entry;
  Said said;
};

// Reads one line, without its newline. Returns nullopt when it has nothing to search for.
std::optional<Read> read_line(std::string_view line, std::uint64_t offset);
// Does the same for any line, but slower.
std::optional<Read> read_tree(std::string_view line, std::uint64_t offset);

struct Piece {
  std::vector<Read> documents;
  std::uint64_t bytes = 0;         // the length of all whole lines, which are consumed
  std::vector<std::string> cut{};  // entries of which some words were left out
  // One number for each silent reply whose hiding (session/message.h) goes on before this piece:
  // how many words of the user remain to be passed.
  std::vector<std::int64_t> hides{};
};
// Tells whether a message is hidden together with the silent reply that it led to. `words` is how
// many of the user's words remain to be passed on the way back. Call it for one message after the
// other, backwards, while `words` is above 0.
bool is_hidden_by_reply(Role role, std::int64_t& words);

// Reads a piece for the index; `bytes` begins at `offset` of the transcript. Beyond
// search::kWordsMax words, a message keeps only its different words, each once, because everybody
// waits while a message is added.
Piece read_piece(std::string_view bytes, std::uint64_t offset);

}  // namespace reef::recall
