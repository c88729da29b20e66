#include "bus/bus.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "bus/source.h"

namespace reef::bus {
namespace {

Error no_subscription(std::uint64_t id) {
  return Error(Errc::not_found, fmt::format("there is no subscription {}", id));
}

// How often a save starts again because somebody edited the file meanwhile.
constexpr int kEditsMax = 8;
// As many as there may be, with room for what somebody notes beside them.
constexpr std::uint64_t kFileBytesMax = 16U << 20;

std::string words_of(const Event& event) {
  if (event.payload.find_first_not_of(" \t\r\n") != std::string::npos) return event.payload;
  // A turn cannot begin without words.
  return fmt::format("Event {}, without a payload.", event.source);
}

}  // namespace

Bus::Bus(Executor loop, session::Documents& documents, Pool& pool, runtime::Runtime& runtime)
    : loop_(loop),
      documents_(documents),
      pool_(pool),
      runtime_(runtime),
      saved_(loop),
      turns_group_(loop, "events"),
      saves_(loop, "subscriptions") {}

Result<Bus::Read> Bus::read_file() const {
  REEF_TRY(auto document, documents_.read(std::string(kSubscriptionsName), kFileBytesMax));
  if (!document) return Read{};
  return Read{std::move(document->bytes), std::move(document->version)};
}

Status Bus::take(std::string text) {
  auto parsed = parse_subscriptions(text, kSubscriptionsName);
  if (!parsed) {
    broken_ = parsed.error().what;
    return std::move(parsed).error();
  }
  broken_.clear();
  auto list = parsed->list;
  known_ = with_hand_edits(known_, base_, *std::move(parsed));
  base_ = std::move(list);
  seen_ = std::move(text);
  return Ok{};
}

Task<Status> Bus::load() {
  const auto turn = co_await wait_for_file();
  auto work = [this] { return read_file(); };
  auto read = co_await pool_.run(work);
  if (!read) {
    broken_ = read.error().what;
    co_return std::move(read).error();
  }
  co_return take(std::move(read->text));
}

Task<void> Bus::stop() {
  turns_group_.cancel();
  co_await turns_group_.join();
  co_await saves_.join();
}

Task<Status> Bus::save() {
  if (!broken_.empty()) co_return Error(Errc::conflict, broken_);
  const auto turn = co_await wait_for_file();
  for (int tries = 0; tries < kEditsMax; ++tries) {
    auto list = known_.list;
    auto text = write_subscriptions(known_);
    // Returns the text that somebody else wrote there, instead of writing over it.
    auto work = [this, text, seen = seen_,
                 tried = std::exchange(tried_, text)]() -> Result<std::optional<std::string>> {
      REEF_TRY(auto now, read_file());
      if (now.text != seen && now.text != tried) return std::optional(std::move(now.text));
      const auto done =
          documents_.replace(std::string(kSubscriptionsName), text, session::expect(now.version));
      if (done) return std::optional<std::string>();
      if (done.error().code != Errc::conflict) return done.error();
      REEF_TRY(now, read_file());
      return std::optional(std::move(now.text));
    };
    REEF_CO_TRY(auto edited, co_await pool_.run(work));
    if (!edited) {
      seen_ = std::move(text);
      base_ = std::move(list);
      co_return Ok{};
    }
    if (auto taken = take(*std::move(edited)); !taken)
      co_return Error(Errc::conflict, taken.error().what);
  }
  co_return Error(Errc::busy, fmt::format("{} is being edited all the time", kSubscriptionsName));
}

Task<std::unique_ptr<Bus::FileTurn>> Bus::wait_for_file() {
  while (saving_) co_await saved_.wait();
  saving_ = true;
  co_return std::make_unique<FileTurn>(*this);
}

Bus::FileTurn::~FileTurn() {
  bus_.saving_ = false;
  bus_.saved_.notify_all();
}

Task<Result<Subscription>> Bus::subscribe(std::string source, std::string target_agent, bool once) {
  return shielded(subscribe_unshielded(std::move(source), std::move(target_agent), once));
}

Task<Result<Subscription>> Bus::subscribe_unshielded(std::string source, std::string target_agent,
                                                     bool once) {
  REEF_CO_CHECK(check_pattern(source));
  REEF_CO_TRY(const auto agent, runtime_.setup().find(target_agent));
  for (;;) {
    const auto same =
        std::find_if(known_.list.begin(), known_.list.end(), [&](const Subscription& one) {
          return one.source == source && one.target_agent == agent.name && one.once == once;
        });
    if (same == known_.list.end()) break;
    if (!unsaved_.contains(same->id)) co_return *same;
    co_await saved_.wait();  // another task is about to save it, or to fail
  }
  if (known_.list.size() >= kSubscriptionsMax)
    co_return Error(Errc::too_large,
                    fmt::format("there are {} subscriptions already", kSubscriptionsMax));
  Subscription fresh{++known_.last_id, std::move(source), agent.name, once};
  known_.list.push_back(fresh);
  unsaved_.insert(fresh.id);
  auto saved = co_await save();
  unsaved_.erase(fresh.id);
  saved_.notify_all();
  if (!saved) {
    std::erase_if(known_.list, [&](const auto& one) { return one.id == fresh.id; });
    co_return std::move(saved).error().with("the subscription could not be saved");
  }
  co_return fresh;
}

Task<Status> Bus::unsubscribe(std::uint64_t id) {
  return shielded(unsubscribe_unshielded(id));
}

Task<Status> Bus::unsubscribe_unshielded(std::uint64_t id) {
  const auto found = std::find_if(known_.list.begin(), known_.list.end(),
                                  [&](const auto& one) { return one.id == id; });
  if (found == known_.list.end()) co_return no_subscription(id);
  const auto removed = *found;
  known_.list.erase(found);
  if (auto saved = co_await save(); !saved) {
    known_.list.push_back(removed);
    co_return std::move(saved).error().with("the change could not be saved");
  }
  co_return Ok{};
}

Task<Result<std::vector<Subscription>>> Bus::rename_agent(std::string from, std::string to) {
  return shielded(rename_unshielded(std::move(from), std::move(to)));
}

Task<Result<std::vector<Subscription>>> Bus::rename_unshielded(std::string from, std::string to) {
  // A file that cannot be read may name the agent, which would be left behind silently.
  if (!broken_.empty()) co_return Error(Errc::conflict, broken_);
  std::vector<Subscription> before, after;
  for (const auto& one : known_.list) {
    auto renamed = one;
    renamed.source = with_agent_renamed(one.source, from, to);
    if (one.target_agent == from) renamed.target_agent = to;
    if (renamed.source == one.source && renamed.target_agent == one.target_agent) continue;
    REEF_CO_CHECK(check_pattern(renamed.source));
    before.push_back(one);
    after.push_back(std::move(renamed));
  }
  if (before.empty()) co_return before;
  if (auto saved = co_await replace(std::move(after)); !saved) {
    static_cast<void>(co_await replace(before));  // make memory agree with the file again
    co_return std::move(saved).error();
  }
  co_return before;
}

Task<Status> Bus::put_back(std::vector<Subscription> before) {
  if (before.empty()) co_return Ok{};
  co_return co_await shielded(replace(std::move(before)));
}

// Replaces subscriptions by their ids; one that is gone by now stays gone.
Task<Status> Bus::replace(std::vector<Subscription> by) {
  for (const auto& fresh : by)
    for (auto& one : known_.list)
      if (one.id == fresh.id) one.source = fresh.source, one.target_agent = fresh.target_agent;
  auto saved = co_await save();
  if (!saved) co_return std::move(saved).error().with("the subscriptions could not be saved");
  co_return Ok{};
}

bool Bus::is_awaited(std::string_view source) const {
  return std::any_of(known_.list.begin(), known_.list.end(),
                     [&](const auto& one) { return matches(one.source, source); });
}

Status Bus::publish(Event event) {
  REEF_CHECK(check_source(event.source));
  if (event.payload.size() > limits_.payload_bytes_max)
    return Error(Errc::too_large,
                 fmt::format("the payload of '{}' has {} bytes; at most {} are allowed",
                             event.source, event.payload.size(), limits_.payload_bytes_max));
  event.payload = utf8::sanitize(event.payload);
  ++published_;
  std::size_t started = 0;
  std::vector<std::uint64_t> used_up;
  for (auto& one : known_.list) {
    if (!matches(one.source, event.source)) continue;
    runtime::Message message{one.target_agent, "event:" + event.source, words_of(event), ""};
    const auto done =
        started < limits_.fan_out_max
            ? start(std::move(message), event.depth)
            : Status(Error(Errc::busy, fmt::format("it started {} turns already", started)));
    if (done) {
      ++started;
      ++one.delivered;
      if (one.once) used_up.push_back(one.id);
    } else {
      ++one.dropped;
      ++dropped_;
      log::warn("event {}: not delivered to agent {} (subscription {}): {}", event.source,
                one.target_agent, one.id, done.error().what);
    }
  }
  if (!used_up.empty()) {
    std::erase_if(known_.list, [&](const auto& one) {
      return std::find(used_up.begin(), used_up.end(), one.id) != used_up.end();
    });
    if (!save_planned_) saves_.spawn(save_later());
    save_planned_ = true;
  }
  return Ok{};
}

Status Bus::deliver(runtime::Message message, int depth) {
  auto done = start(std::move(message), depth);
  if (done) return done;
  ++dropped_;
  log::warn("event: not delivered: {}", done.error().what);
  return done;
}

Status Bus::start(runtime::Message message, int depth) {
  if (depth > limits_.depth_max)
    return Error(Errc::busy, fmt::format("{} events led to each other; that is taken for a loop",
                                         limits_.depth_max));
  if (turns_ >= limits_.turns_max)
    return Error(Errc::busy, fmt::format("{} turns that events started are running", turns_));
  message.lineage.events = depth;
  REEF_TRY(auto run, runtime_.submit(std::move(message)));
  ++turns_;
  turns_group_.spawn(wait_for_end(std::move(run)));
  return Ok{};
}

Task<void> Bus::wait_for_end(std::shared_ptr<runtime::Run> run) {
  struct Over {
    std::size_t& turns;
    ~Over() { --turns; }
  } const over{turns_};
  co_await yield_to_loop();
  runtime::EventLog::Place place;
  for (;;) {
    const auto event = co_await run->events().next(place);
    if (!event || !*event) co_return;
  }
}

Task<void> Bus::save_later() {
  co_await yield_to_loop();
  save_planned_ = false;
  if (const auto saved = co_await save(); !saved)
    log::error("events: subscriptions could not be saved: {}", saved.error().what);
}

}  // namespace reef::bus
