// A CrabTalk conversation's lines, in order, whatever they were kept in, as entries of ours. The
// reader's own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exchange/crabtalk_setup.h"
#include "exchange/feed.h"

namespace reef::exchange {

class CrabTalkConversation {
 public:
  CrabTalkConversation(Intake& intake, const Archives& archives, TimePoint created)
      : intake_(intake), feed_(intake, created), archives_(archives) {}

  // `place` names the line for ever. `time` is when it was written, if that is known. Returns what
  // is wrong with it, or nothing.
  Result<std::string> take_line(json::object line, std::string_view place,
                                std::optional<TimePoint> time);
  // What the metadata has beside what we have words for.
  Status about(json::object rest);
  Status finish(std::optional<TimePoint> updated);

 private:
  struct Held {
    session::EntryId id;
    std::optional<TimePoint> time;
    json::object fields;
    bool settled = false;  // it said all of itself
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
