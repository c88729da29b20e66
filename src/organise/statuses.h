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
  std::string label;  // shown to people
  bool closed = false;
  std::string color, icon;

  bool fixed() const;  // always exists, and always in its category
};

class Statuses {
 public:
  Statuses() = default;
  explicit Statuses(std::vector<SessionStatus> all) : all_(std::move(all)) {}

  const std::vector<SessionStatus>& all() const { return all_; }
  const SessionStatus* find(std::string_view id) const;
  // Returns the status to show: todo when the session has none or one that is not defined.
  std::string_view shown(std::string_view stored) const;
  // Fails with not_found, listing the existing statuses.
  Status check(std::string_view id) const;

 private:
  std::vector<SessionStatus> all_;
};

// Adds missing fixed statuses; anything else that is wrong is an error with its line.
Result<Statuses> parse_statuses(std::string_view text, std::string_view file,
                                std::vector<std::string>& warnings);
// The statuses of a home without the file.
std::string_view shipped_statuses();

// Each of these returns the file's text after the change; the rest of the text stays as it is.
Result<std::string> add_status(std::string_view text, const SessionStatus& status);
struct StatusChange {  // nullopt: unchanged; empty: back to the default
  std::optional<std::string> label, category, color, icon;
};
Result<std::string> set_status(std::string_view text, std::string_view id,
                               const StatusChange& change);
Result<std::string> remove_status(std::string_view text, std::string_view id);
// Parses "open" and "closed"; "" is open.
Result<bool> closed_from(std::string_view category);

}  // namespace reef::organise
