// Parses the answers of tools. Pure functions that accept any text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reef::local {

struct Note {
  std::string name, content;
};
// Parses an answer of `recall`: "## name\ncontent" with "---" lines between. A content with such
// lines may be taken for two notes, because nothing in the answer tells them apart.
std::vector<Note> notes_in(std::string_view text);
// Returns the name of the note with exactly this content, whatever lines it has; empty if there is
// none.
std::string name_of_content(std::string_view text, std::string_view content);

// Recognises the failures of `forget`: the entry with this name is always kept, or there is none.
bool is_kept(std::string_view failure);
bool is_missing(std::string_view failure);

struct Passage {
  struct Line {
    std::string role;  // "user", "assistant", "summary"; with a tool "tool:bash", "assistant:bash"
    std::string text;
  };
  std::string title, session, date;
  std::vector<Line> lines;  // the lines shown from the conversation, in order
  std::size_t matched = 0;  // index of the line that matched
};
// Parses an answer of `search_sessions`.
std::vector<Passage> passages_in(std::string_view text);

}  // namespace reef::local
