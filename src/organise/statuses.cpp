#include "organise/statuses.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "organise/toml_blocks.h"
#include "organise/values.h"

namespace reef::organise {
namespace {

constexpr std::size_t kStatusesMax = 200;

struct Fixed {
  std::string_view id, label;
  bool closed;
};
constexpr Fixed kFixed[] = {
    {"todo", "Todo", false}, {"done", "Done", true}, {"cancelled", "Cancelled", true}};

constexpr std::string_view kShipped =
    R"(# Statuses of sessions, in the order they are shown. docs/organise.md
# todo, done and cancelled always exist; the others may be changed, removed and added to.

[[status]]
id = "backlog"
label = "Backlog"
category = "open"
color = "grey"
icon = "○"

[[status]]
id = "todo"
label = "Todo"
category = "open"
color = "grey"
icon = "◌"

[[status]]
id = "in-progress"
label = "In Progress"
category = "open"
color = "green"
icon = "◐"

[[status]]
id = "needs-review"
label = "Needs Review"
category = "open"
color = "yellow"
icon = "◎"

[[status]]
id = "done"
label = "Done"
category = "closed"
color = "magenta"
icon = "●"

[[status]]
id = "cancelled"
label = "Cancelled"
category = "closed"
color = "grey"
icon = "✕"
)";

const Fixed* find_fixed(std::string_view id) {
  for (const auto& fixed : kFixed)
    if (fixed.id == id) return &fixed;
  return nullptr;
}

std::string_view category_of(bool closed) {
  return closed ? "closed" : "open";
}

Status check_new_id(std::string_view id) {
  REEF_CHECK(check_id("status", id));
  // In filters these words mean the category.
  if (id == "open" || id == "closed")
    return Error(Errc::invalid, fmt::format("status '{}': that is the name of a category", id));
  return Ok{};
}

Status check_category(std::string_view id, bool closed) {
  const auto* fixed = find_fixed(id);
  if (!fixed || fixed->closed == closed) return Ok{};
  return Error(Errc::invalid,
               fmt::format("status '{}' is always {}", id, category_of(fixed->closed)));
}

Fields fields_of(const SessionStatus& status) {
  return {{"id", status.id},
          {"label", status.label == status.id ? "" : status.label},
          {"category", std::string(category_of(status.closed))},
          {"color", status.color},
          {"icon", status.icon}};
}

// Reads the statuses in the file, without adding the fixed ones.
Result<std::vector<SessionStatus>> read_written(std::string_view text, std::string_view file,
                                                std::vector<std::string>& warnings) {
  REEF_TRY(const auto root, parse_toml(text, file));
  std::vector<SessionStatus> all;
  const auto read_one = [&](Block& block) {
    SessionStatus status;
    status.id = block.required("id");
    status.label = block.text("label");
    const auto category = block.text("category");
    status.color = block.text("color");
    status.icon = block.text("icon");
    if (status.label.empty()) status.label = status.id;
    if (const auto closed = closed_from(category)) {
      status.closed = *closed;
    } else {
      block.refuse("category", closed.error().what);
    }
    const auto* fixed = find_fixed(status.id);
    if (category.empty() && fixed) status.closed = fixed->closed;
    static_cast<void>(block.check(check_new_id(status.id)));
    static_cast<void>(block.check(check_category(status.id, status.closed)));
    for (const auto& other : all)
      if (other.id == status.id) block.refuse("id", fmt::format("'{}' is there twice", status.id));
    all.push_back(std::move(status));
  };
  REEF_CHECK(read_blocks(root, file, {{"status", kStatusesMax, read_one}}, warnings));
  return all;
}

Result<std::vector<SessionStatus>> read_statuses(std::string_view text) {
  std::vector<std::string> ignored;
  return read_written(text, "statuses.toml", ignored);
}

// Returns its index among the blocks of the file; nullopt when it is not in the file.
std::optional<std::size_t> place_in(const std::vector<SessionStatus>& written,
                                    std::string_view id) {
  for (std::size_t i = 0; i < written.size(); ++i)
    if (written[i].id == id) return i;
  return std::nullopt;
}

Error no_status(std::string_view id, const std::vector<SessionStatus>& all) {
  std::string known;
  for (const auto& status : all) known += fmt::format("{}{}", known.empty() ? "" : ", ", status.id);
  return Error(Errc::not_found, fmt::format("unknown status '{}'; there are: {}", utf8::excerpt(id),
                                            utf8::excerpt(known, 500)));
}

void put_in_fixed(std::vector<SessionStatus>& all) {
  for (const auto& fixed : kFixed) {
    if (place_in(all, fixed.id)) continue;
    SessionStatus status{std::string(fixed.id), std::string(fixed.label), fixed.closed, "", ""};
    // It goes before the first closed status, or at the end.
    auto at = all.end();
    if (!fixed.closed)
      at = std::find_if(all.begin(), all.end(), [](const SessionStatus& s) { return s.closed; });
    all.insert(at, std::move(status));
  }
}

}  // namespace

bool SessionStatus::fixed() const {
  return find_fixed(id) != nullptr;
}

const SessionStatus* Statuses::find(std::string_view id) const {
  for (const auto& status : all_)
    if (status.id == id) return &status;
  return nullptr;
}

std::string_view Statuses::shown(std::string_view stored) const {
  const auto* status = find(stored);
  return status ? std::string_view(status->id) : std::string_view("todo");
}

Status Statuses::check(std::string_view id) const {
  if (find(id)) return Ok{};
  return no_status(id, all_);
}

Result<bool> closed_from(std::string_view category) {
  if (category.empty() || category == "open") return false;
  if (category == "closed") return true;
  return Error(Errc::invalid,
               fmt::format("category must be open or closed, not '{}'", utf8::excerpt(category)));
}

Result<Statuses> parse_statuses(std::string_view text, std::string_view file,
                                std::vector<std::string>& warnings) {
  REEF_TRY(auto all, read_written(text, file, warnings));
  put_in_fixed(all);
  return Statuses(std::move(all));
}

std::string_view shipped_statuses() {
  return kShipped;
}

Result<std::string> add_status(std::string_view text, const SessionStatus& status) {
  REEF_TRY(auto all, read_statuses(text));
  const bool there = place_in(all, status.id) || status.fixed();
  REEF_CHECK(check_new_id(status.id));
  if (there) return Error(Errc::conflict, fmt::format("status '{}' exists", status.id));
  if (all.size() >= kStatusesMax)
    return Error(Errc::too_large, fmt::format("{} statuses are the most there may be", all.size()));
  const auto fields = fields_of(status);
  REEF_CHECK(check_fields(fields));
  return with_block(text, "status", std::nullopt, fields);
}

Result<std::string> set_status(std::string_view text, std::string_view id,
                               const StatusChange& change) {
  REEF_TRY(auto written, read_statuses(text));
  const auto place = place_in(written, id);
  put_in_fixed(written);
  const auto here = place_in(written, id);
  if (!here) return no_status(id, written);
  auto status = written[*here];
  if (change.label) status.label = *change.label;
  if (change.category) {
    REEF_TRY(status.closed, closed_from(*change.category));
  }
  if (change.color) status.color = *change.color;
  if (change.icon) status.icon = *change.icon;
  REEF_CHECK(check_category(id, status.closed));
  const auto fields = fields_of(status);
  REEF_CHECK(check_fields(fields));
  return with_block(text, "status", place, fields);
}

Result<std::string> remove_status(std::string_view text, std::string_view id) {
  REEF_TRY(auto written, read_statuses(text));
  if (find_fixed(id))
    return Error(Errc::invalid, fmt::format("status '{}' always exists and cannot be removed", id));
  const auto place = place_in(written, id);
  if (!place) {
    put_in_fixed(written);
    return no_status(id, written);
  }
  return without_block(text, "status", *place);
}

}  // namespace reef::organise
