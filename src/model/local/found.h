// What the tools' answers say, read back from their text. Pure functions; anything is survived.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reef::model {

struct Note {
  std::string name, content;
};
// An answer of `recall`: "## name\ncontent" with "---" lines between.
std::vector<Note> notes_in(std::string_view text);

// What `forget` answers when what has the name is kept as it is, and when nothing has it.
bool is_kept(std::string_view failure);
bool is_missing(std::string_view failure);

struct Passage {
  std::string title, session, date;
  std::string role;    // who said it
  std::string text;    // the message that matched
  std::string next;    // the one behind it
  std::string around;  // all that is shown of the conversation
};
// An answer of `search_sessions`.
std::vector<Passage> passages_in(std::string_view text);

}  // namespace reef::model
