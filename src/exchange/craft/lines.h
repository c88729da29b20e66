// Turns the header and the lines of a Craft session, wherever they are kept, into a session of
// ours. Used only by the readers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exchange/feed.h"
#include "exchange/foreign_file.h"
#include "exchange/session_files.h"

namespace reef::exchange {

// Stands for the session's folder in Craft's lines.
inline constexpr std::string_view kSessionPath = "{{SESSION_PATH}}";

// "craft:<id>@<createdAt>": ids are unique in a workspace only.
std::string craft_origin(const json::object& header, std::string_view id);

// One session. Call header, then line for each line, then finish.
class CraftSession {
 public:
  struct Place {
    std::string path;  // for messages to a person
    std::string id;
    std::string mark;
    TimePoint modified;
    std::string parent;  // an origin
  };
  // Brings in the session's files; called after the session has begun.
  using BringFiles = std::function<Result<Moved>()>;

  CraftSession(Intake& intake, Place place, BringFiles bring)
      : intake_(intake), place_(std::move(place)), bring_(std::move(bring)) {}

  // Optional; without a header the place says what is known.
  void header(json::object header) { header_ = std::move(header); }
  // `seed` names a line that has no id. Returns what is wrong with it, or nothing.
  Result<std::string> line(json::object line, std::string_view seed);
  Status finish();
  // The session has not changed since it was last imported; lines need not be given.
  bool unwanted() const { return begun_ && !feed_; }

 private:
  // One of our own assistant messages, spread over several lines.
  struct Group {
    std::string id;
    std::optional<TimePoint> time;
    Plain parts;
    Extra extra;
    struct Result {
      std::int64_t at = 0;
      std::optional<TimePoint> time;
      json::object message;
      Extra extra;
    };
    std::vector<Result> results;
  };

  Status begin(const json::object* first);
  Status flush();
  Status add_message(std::string id, std::optional<TimePoint> time, json::object message,
                     json::object rest);
  Status add_own(json::object line, Extra extra);
  Status add_result(Group::Result result);
  Status add_foreign(json::object line, std::string_view type, std::string id);
  Status add_tool(json::object line, const std::string& id, std::optional<TimePoint> time);
  Result<std::string> add_carried(json::array entries);
  void move_references(json::object& line) const;
  std::optional<std::string> moved(std::string_view path) const;

  Intake& intake_;
  Place place_;
  BringFiles bring_;
  json::object header_;
  bool begun_ = false;
  std::optional<Feed> feed_;
  Moved moved_;
  std::optional<Group> group_;
  json::array after_;
};

}  // namespace reef::exchange
