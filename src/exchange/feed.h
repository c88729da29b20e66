// Carries one foreign session into an Intake: a chain of entries, each with an id of its own and a
// believable time. Also holds what our writers add to foreign lines, so that nothing is lost on the
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
  // `start` is the time of the first entries when they have none of their own.
  Feed(Intake& intake, TimePoint start) : intake_(intake), last_(start) {}

  // Returns the wanted id, or one made from it when this session already has it.
  session::EntryId claim(std::string wanted);
  // Adds the next entry. `id` must be claimed.
  Status add(std::string_view type, session::EntryId id, std::optional<TimePoint> time,
             json::object fields);
  TimePoint last_time() const { return last_; }

 private:
  Intake& intake_;
  TimePoint last_;
  std::optional<session::EntryId> parent_;
  IdTable ids_;
};

// The member "reef" of a foreign line holds what its format has no place for:
//   {"id","time","with":{members of the entry},"message":{members of the message},"layout":[...]}
// or {"entry":{...}} for an entry the format cannot express.
inline constexpr std::string_view kExtra = "reef";

// A message entry in a foreign format, and the extra that completes it. `held` names the members of
// the message that the format has a place for.
struct Foreign {
  Plain parts;
  json::object extra;
};
Foreign to_foreign(const session::Entry& entry, std::initializer_list<std::string_view> held,
                   Thinking thinking);

// The extra of a line, as read.
struct Extra {
  // Moves the extra out of the line; any part of it may be missing or of the wrong type.
  explicit Extra(json::object& line);

  bool there = false;
  std::string id;
  std::optional<TimePoint> time;
  json::object with;
  json::object message;
  json::array layout;
  std::optional<json::object> entry;
  json::object more;  // members only one format uses
};

// The fields of a message entry: the message completed by its extra, and what belongs to the entry.
json::object message_fields(json::object message, TimePoint time, Extra& extra);

// Entries a format cannot express are carried whole and added again unchanged. Metadata is never
// taken from lines, so is_verbatim is false for it.
bool is_verbatim(const json::object& entry);
Status add_verbatim(Feed& feed, json::object entry);

// The metadata an exported session takes along, and the part of it that is believed on the way
// back.
json::object portable_meta(const session::Row& row);
json::object believable_meta(const json::object& in);
// Sets the field; false when the value is of the wrong type or not valid for the field.
bool set_meta(json::object& meta, std::string_view field, json::value value);

// Whether the entry holds only metadata or a title, which writers do not write as an entry.
bool is_meta(const session::Entry& entry);

}  // namespace reef::exchange
