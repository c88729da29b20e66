// What the tools' answers say, read back from their text. Pure functions; anything is survived.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reef::model {

struct Note {
  std::string name, content;
};
// An answer of `recall`: "## name\ncontent" with "---" lines between. A content that has such lines
// itself may still be taken for two notes: nothing in the answer tells them apart.
std::vector<Note> notes_in(std::string_view text);
// The name of the note with exactly this content, whatever lines it has; empty: none shows it.
std::string name_of_content(std::string_view text, std::string_view content);

// What `forget` answers when what has the name is kept as it is, and when nothing has it.
bool is_kept(std::string_view failure);
bool is_missing(std::string_view failure);

struct Passage {
  struct Line {
    std::string role;  // "user", "assistant", "summary"; with a tool "tool:bash", "assistant:bash"
    std::string text;
  };
  std::string title, session, date;
  std::vector<Line> lines;  // all that is shown of the conversation, in order
  std::size_t matched = 0;  // which of them was found
};
// An answer of `search_sessions`.
std::vector<Passage> passages_in(std::string_view text);

}  // namespace reef::model
