// One foreign session on its way into an Intake: a chain of entries, each with an id of its own and
// a believable time; and what our own writers add to foreign lines so that nothing is lost on the
// way there and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "exchange/content.h"
#include "exchange/exchange.h"
#include "exchange/id_table.h"

namespace reef::exchange {

class Feed {
 public:
  // `start` is the time of entries that come without one before any has come with it.
  Feed(Intake& intake, TimePoint start) : intake_(intake), last_(start) {}

  // The wanted id, or one made from it when this session has it already.
  session::EntryId claim(std::string wanted);
  // The entry that follows. `id` must be claimed.
  Status add(std::string_view type, session::EntryId id, std::optional<TimePoint> time,
             json::object fields);
  TimePoint last_time() const { return last_; }

 private:
  Intake& intake_;
  TimePoint last_;
  std::optional<session::EntryId> parent_;
  IdTable ids_;
};

// What a line of ours says beside what its format can hold, under the member "reef":
//   {"id","time","with":{members of the entry},"message":{members of the message},"layout":[...]}
// or {"entry":{...}}: an entry the format has no words for.
inline constexpr std::string_view kExtra = "reef";

// A message and its entry as a format holds them, and the extra that completes them. `held` are the
// members of the message the format has a place for.
struct Foreign {
  Plain parts;
  json::object extra;
};
Foreign to_foreign(const session::Entry& entry, std::initializer_list<std::string_view> held,
                   Thinking thinking);

// The extra of a line, as read.
struct Extra {
  // Moves it out of the line; nothing of it is trusted to be there or of the right type.
  explicit Extra(json::object& line);

  bool there = false;
  std::string id;
  std::optional<TimePoint> time;
  json::object with;
  json::object message;
  json::array layout;
  std::optional<json::object> entry;
  json::object more;  // what is a format's own
};

// The fields of a message entry: the message completed by its extra, and what belongs to the entry.
json::object message_fields(json::object message, TimePoint time, Extra& extra);

// An entry a format has no words for, given again as it was. Metadata is not taken from lines.
bool is_verbatim(const json::object& entry);
Status add_verbatim(Feed& feed, json::object entry);

// The metadata an exported session takes along, and what may be believed of it on the way back.
json::object portable_meta(const session::Row& row);
json::object believable_meta(const json::object& in);
// Sets the field unless it is of a wrong type, or has a value that is none of it.
bool set_meta(json::object& meta, std::string_view field, json::value value);

// What is about metadata and the title, and so not written as an entry.
bool is_meta(const session::Entry& entry);

}  // namespace reef::exchange
