#include "runtime/questions.h"

#include <fmt/format.h>

#include "base/notify.h"
#include "base/utf8.h"

namespace reef::runtime {
namespace {

constexpr std::size_t kPendingMax = 4096;

}  // namespace

struct Questions::Entry {
  Pending pending;
  std::optional<Result<std::vector<UserAnswer>>> answers;
  Notify changed;
  bool held = false;
};

Questions::Questions(Executor loop, Clock& clock)
    : loop_(std::move(loop)),
      clock_(clock),
      boot_(fmt::format("{:04x}", clock.now().time_since_epoch().count() & 0xffff)),
      changed_(loop_) {}

Questions::~Questions() = default;

Task<Result<std::vector<UserAnswer>>> Questions::put(Origin origin, Ask ask,
                                                     std::chrono::milliseconds patience, Show show,
                                                     std::string id) {
  if (ask.questions.empty()) co_return Error(Errc::invalid, "there is no question");
  if (entries_.size() >= kPendingMax)
    co_return Error(Errc::busy, fmt::format("{} questions are waiting already", entries_.size()));
  const auto number = ++last_;
  if (id.empty()) id = fmt::format("q{}-{}", boot_, number);
  Pending pending{std::move(id), std::move(origin), std::move(ask), clock_.now(), std::nullopt};
  auto deadline = Moment::max();
  if (patience.count() > 0) {
    pending.expires_at = pending.asked_at + patience;
    deadline = steady_now(loop_) + patience;
  }
  const auto entry =
      std::make_shared<Entry>(Entry{std::move(pending), std::nullopt, Notify(loop_)});
  entries_.emplace(number, entry);
  struct Removal {
    Questions& questions;
    std::uint64_t number;
    ~Removal() {
      questions.entries_.erase(number);
      questions.changed_.notify_all();
    }
  } const removal{*this, number};
  show(entry->pending);
  changed_.notify_all();
  while (!entry->answers) {
    const auto until = entry->held ? Moment::max() : deadline;
    if (steady_now(loop_) >= until) co_return Error(Errc::timeout, "nobody answered in time");
    static_cast<void>(co_await entry->changed.wait_until(until));
  }
  co_return *std::move(entry->answers);
}

std::vector<const Questions::Pending*> Questions::list() const {
  std::vector<const Pending*> out;
  for (const auto& [number, entry] : entries_)
    if (!entry->answers) out.push_back(&entry->pending);
  return out;
}

Questions::Entry* Questions::entry_of(std::string_view id) const {
  for (const auto& [number, entry] : entries_)
    if (entry->pending.id == id && !entry->answers) return entry.get();
  return nullptr;
}

const Questions::Pending* Questions::find(std::string_view id) const {
  const auto* entry = entry_of(id);
  return entry ? &entry->pending : nullptr;
}

void Questions::hold(std::string_view id, bool held) {
  if (auto* entry = entry_of(id)) {
    entry->held = held;
    entry->changed.notify_all();
  }
}

Task<void> Questions::wait_for_change(Moment deadline) {
  static_cast<void>(co_await changed_.wait_until(deadline));
}

Status Questions::settle(Entry& entry, std::string_view content) {
  if (utf8::single_line(content).empty()) return Error(Errc::invalid, "the answer is empty");
  entry.answers = answers_from(entry.pending.ask, content);
  entry.changed.notify_all();
  return Ok{};
}

Status Questions::answer(const std::string& id, std::string_view content) {
  if (auto* entry = entry_of(id)) return settle(*entry, content);
  return Error(Errc::not_found, fmt::format("no question '{}' is waiting", utf8::excerpt(id)));
}

Status Questions::decline(const std::string& id, std::string_view why) {
  for (const auto& [number, entry] : entries_) {
    if (entry->pending.id != id || entry->answers) continue;
    const auto words = utf8::single_line(utf8::sanitize(why));
    entry->answers =
        Error(Errc::unavailable, words.empty() ? "the client could not put the question"
                                               : "the client could not put the question: " + words);
    entry->changed.notify_all();
    return Ok{};
  }
  return Error(Errc::not_found, fmt::format("no question '{}' is waiting", utf8::excerpt(id)));
}

Status Questions::answer_oldest(const session::Key& key, std::string_view content) {
  for (const auto& [number, entry] : entries_)
    if (entry->pending.origin.key == key && !entry->answers) return settle(*entry, content);
  return Error(Errc::not_found, "no question is waiting");
}

}  // namespace reef::runtime
