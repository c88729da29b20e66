#include "organise/changes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "organise/rules.h"
#include "session/metadata.h"

namespace reef::organise {
namespace {

constexpr std::size_t kSessionLabelsMax = 100;  // labels of one session
// The most text that may wait for the rules; beyond that, messages get no labels.
constexpr std::size_t kWaitingBytesMax = 64U << 20;

std::vector<std::string> labels_of(const json::array* list) {
  std::vector<std::string> out;
  if (!list) return out;
  for (const auto& label : *list)
    if (label.is_string()) out.emplace_back(label.get_string());
  return out;
}

bool is_among(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// Returns the labels after the change.
std::vector<std::string> changed(std::vector<std::string> labels, const Change& change) {
  for (const auto& gone : change.remove_labels) {
    const bool whole = !split_entry(gone).value;
    std::erase_if(labels, [&](const std::string& label) {
      return label == gone || (whole && split_entry(label).id == gone);
    });
  }
  for (const auto& label : change.add_labels)
    if (!is_among(labels, label)) labels.push_back(label);
  return labels;
}

bool is_same(const json::object& patch, const json::object& meta) {
  return std::all_of(patch.begin(), patch.end(), [&](const auto& field) {
    // The transcript may say so already, but the row not yet.
    if (field.key() == "hasUnread") return false;
    const auto* now = meta.if_contains(field.key());
    return field.value().is_null() ? now == nullptr : now && *now == field.value();
  });
}

}  // namespace

Changes::Changes(Executor loop, session::Sessions& sessions, Definitions& definitions, Pool& pool)
    : sessions_(sessions),
      definitions_(definitions),
      pool_(pool),
      turn_(loop),
      tasks_(loop, "labels") {}

Status Changes::check(const Change& change, const Defined& defined, const session::Row* row) {
  const bool labels_change = !change.add_labels.empty() || !change.remove_labels.empty();
  if (!change.patch.empty() || !labels_change) REEF_CHECK(session::check_patch(change.patch));
  if (const auto* status = change.patch.if_contains("sessionStatus");
      status && status->is_string()) {
    const std::string_view id = status->get_string();
    if (!row || row->text("sessionStatus") != id) REEF_CHECK(defined.statuses.check(id));
  }
  const auto has = labels_of(row ? json::find_array(row->meta, "labels") : nullptr);
  auto wanted = labels_of(json::find_array(change.patch, "labels"));
  wanted.insert(wanted.end(), change.add_labels.begin(), change.add_labels.end());
  for (const auto& label : wanted)
    if (!is_among(has, label)) REEF_CHECK(defined.labels.check(label));
  return Ok{};
}

Task<Result<bool>> Changes::apply(session::SessionId id, Change change, Same same) {
  co_return co_await shielded(apply_unshielded(std::move(id), std::move(change), same));
}

Task<Result<bool>> Changes::apply_unshielded(session::SessionId id, Change change, Same same) {
  const auto defined = co_await definitions_.look();
  const bool labels = !change.add_labels.empty() || !change.remove_labels.empty();
  if (labels) {
    while (changing_labels_.contains(id)) co_await turn_.wait();
    changing_labels_.insert(id);
  }
  struct Turn {
    Changes& self;
    const session::SessionId* held;
    ~Turn() {
      if (!held) return;
      self.changing_labels_.erase(*held);
      self.turn_.notify_all();
    }
  } turn{*this, labels ? &id : nullptr};

  const auto* row = sessions_.find(id);
  if (!row) co_return session::no_session(id);
  REEF_CO_CHECK(check(change, *defined, row));
  auto patch = change.patch;
  if (labels) {
    const auto* from = json::find_array(patch, "labels");
    const auto before =
        labels_of(from || patch.contains("labels") ? from : json::find_array(row->meta, "labels"));
    const auto after = changed(before, change);
    if (after.size() > kSessionLabelsMax && after.size() > before.size())
      co_return Error(Errc::invalid,
                      fmt::format("a session has at most {} labels", kSessionLabelsMax));
    if (after != before || patch.contains("labels")) {
      if (after.empty()) {
        patch["labels"] = nullptr;
      } else {
        patch["labels"] = json::array(after.begin(), after.end());
      }
    }
  }
  if (patch.empty() || (same == Same::skip && is_same(patch, row->meta))) co_return false;
  REEF_CO_CHECK(co_await sessions_.patch(id, std::move(patch)));
  co_return true;
}

void Changes::take_words(session::SessionId id, std::string words) {
  if (!definitions_.may_have_rules()) return;
  if (waiting_bytes_ + words.size() > kWaitingBytesMax) {
    log::warn("session {}: too much to look at; the label rules were not run", id.text());
    return;
  }
  waiting_bytes_ += words.size();
  tasks_.spawn(label_by_rules(std::move(id), std::move(words)));
}

Task<void> Changes::label_by_rules(session::SessionId id, std::string words) {
  struct Waiting {
    std::size_t& total;
    std::size_t bytes;
    ~Waiting() { total -= bytes; }
  } waiting{waiting_bytes_, words.size()};

  const auto defined = co_await definitions_.look();
  if (defined->labels.rules().empty()) co_return;
  auto work = [&] { return labels_in(defined->labels, words); };
  auto found = co_await pool_.run(work);
  if (found.empty()) co_return;
  Change change;
  // A session at its limit takes no more; labels found by rules are not worth an error.
  const auto* row = sessions_.find(id);
  auto has = labels_of(row ? json::find_array(row->meta, "labels") : nullptr).size();
  for (auto& label : found) {
    if (has++ >= kSessionLabelsMax) break;
    change.add_labels.push_back(std::move(label));
  }
  if (change.add_labels.empty()) co_return;
  const auto done = co_await apply(id, std::move(change), Same::skip);
  if (!done) log::warn("session {}: labels by rule: {}", id.text(), done.error().what);
}

Task<void> Changes::stop() {
  co_await tasks_.join();
}

}  // namespace reef::organise
