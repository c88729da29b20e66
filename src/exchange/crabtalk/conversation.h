// Turns the lines of a CrabTalk conversation, in order, into our entries, whatever they were kept
// in. Used only by the reader.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exchange/crabtalk/setup.h"
#include "exchange/feed.h"

namespace reef::exchange {

class CrabTalkConversation {
 public:
  CrabTalkConversation(Intake& intake, const Archives& archives, TimePoint created)
      : intake_(intake), feed_(intake, created), archives_(archives) {}

  // `place` names the line at every import. `time` is when it was written, if that is known.
  // Returns what is wrong with the line, or an empty text.
  Result<std::string> take_line(json::object line, std::string_view place,
                                std::optional<TimePoint> time);
  // Adds the metadata that has no field here.
  Status about(json::object rest);
  Status finish(std::optional<TimePoint> updated);

 private:
  struct Held {
    session::EntryId id;
    std::optional<TimePoint> time;
    json::object fields;
    bool settled = false;  // it states its own time and model
  };
  struct Event {
    session::EntryId id;
    json::object event;
  };

  Status flush();
  Result<std::string> compaction(json::object line, Extra extra, std::string id);
  Status event(json::object line, std::string id);
  void message(json::object line, Extra extra, std::string id, std::optional<TimePoint> time);
  json::object native(json::object& message, Extra& extra);

  Intake& intake_;
  Feed feed_;
  const Archives& archives_;
  // A message waits for the events of its turn, which tell when it was said and by which model.
  std::optional<Held> held_;
  std::vector<Event> events_;
  std::map<std::string, std::string, std::less<>> tools_;  // call -> tool, of the last reply
};

}  // namespace reef::exchange
