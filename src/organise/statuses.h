// The statuses a session may have, in the order they are shown: statuses.toml. Values and pure
// functions over the file's text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef::organise {

struct SessionStatus {
  std::string id;
  std::string label;  // what is shown
  bool closed = false;
  std::string color, icon;

  bool fixed() const;  // always there, and always of its category
};

class Statuses {
 public:
  Statuses() = default;
  explicit Statuses(std::vector<SessionStatus> all) : all_(std::move(all)) {}

  const std::vector<SessionStatus>& all() const { return all_; }
  const SessionStatus* find(std::string_view id) const;
  // What a session with this value shows as: todo when it has none, or one that is not defined.
  std::string_view shown(std::string_view stored) const;
  // not_found, with those there are.
  Status check(std::string_view id) const;

 private:
  std::vector<SessionStatus> all_;
};

// Missing fixed ones are put in; everything else that is wrong is an error with its line.
Result<Statuses> parse_statuses(std::string_view text, std::string_view file,
                                std::vector<std::string>& warnings);
// What a home without the file has.
std::string_view shipped_statuses();

// The text of the file after the change; the rest of it stays as it is.
Result<std::string> add_status(std::string_view text, const SessionStatus& status);
struct StatusChange {  // nothing: stays; empty: back to the default
  std::optional<std::string> label, category, color, icon;
};
Result<std::string> set_status(std::string_view text, std::string_view id,
                               const StatusChange& change);
Result<std::string> remove_status(std::string_view text, std::string_view id);
// "open", "closed"; "" is open.
Result<bool> closed_from(std::string_view category);

}  // namespace reef::organise
