// ledger := line*     line := {"v":1,"at":MS,"sender","id","sum","answer":[BASE64, ...]} '\n'
// A line that cannot be read is passed over: a crash cut it off.

#include "server/ledger.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"

namespace reef::server {
namespace {

std::string line_of(const Ledger::Entry& entry) {
  json::array messages;
  for (const auto& message : entry.messages) messages.emplace_back(to_base64(message));
  return json::write(json::object{{"v", 1},
                                  {"at", unix_millis(entry.at)},
                                  {"sender", entry.mark.sender},
                                  {"id", entry.mark.id},
                                  {"sum", entry.mark.sum},
                                  {"answer", std::move(messages)}}) +
         "\n";
}

std::optional<Ledger::Entry> entry_from(std::string_view line) {
  const auto parsed = json::parse(line);
  const auto* fields = parsed ? parsed->if_object() : nullptr;
  if (!fields || json::find_int(*fields, "v") != 1) return std::nullopt;
  const auto text = [&](std::string_view name) {
    return std::string(json::find_string(*fields, name).value_or(""));
  };
  Ledger::Entry out;
  out.mark = {text("id"), text("sender"), text("sum")};
  out.at = TimePoint(std::chrono::milliseconds(json::find_int(*fields, "at").value_or(0)));
  const auto* messages = json::find_array(*fields, "answer");
  if (!messages || messages->empty() || out.mark.id.empty()) return std::nullopt;
  for (const auto& item : *messages) {
    const auto bytes = item.is_string() ? from_base64(item.get_string()) : std::nullopt;
    if (!bytes) return std::nullopt;
    out.messages.push_back(*bytes);
  }
  return out;
}

std::size_t bytes_of(const Ledger::Entry& entry) {
  std::size_t sum = 128 + entry.mark.id.size() + entry.mark.sender.size();
  for (const auto& message : entry.messages) sum += message.size();
  return sum;
}

}  // namespace

Ledger::Ledger(Executor loop, session::Journal& answers, Clock& clock)
    : answers_(answers), clock_(clock), changed_(loop), ended_(loop) {}

Ledger::~Ledger() = default;

Task<Status> Ledger::load() {
  while (busy_ && !loaded_) co_await changed_.wait();
  if (loaded_) co_return Ok{};
  busy_ = true;
  std::string bytes;
  const auto take_all = [&bytes](const session::ByteSource& source) -> Status {
    REEF_TRY(bytes, source.read(0, source.size));
    return Ok{};
  };
  const auto read = co_await shielded(answers_.read(take_all));
  busy_ = false;
  changed_.notify_all();
  if (!read) co_return Error(read.error()).with("what was answered before could not be read");
  loaded_ = true;
  std::string_view text = bytes;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto entry = entry_from(text.substr(0, end));
    // The next line must not be written behind half of one.
    if (!entry || end == text.size()) doubtful_ = true;
    if (entry) take(*std::move(entry));
    ++lines_;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  forget_old();
  co_return Ok{};
}

void Ledger::take(Entry entry) {
  const auto name = name_of(entry.mark);
  if (const auto old = entries_.find(name); old != entries_.end()) {
    bytes_ -= bytes_of(old->second);
    by_age_.erase({old->second.at, name});
    entries_.erase(old);
  }
  const auto size = bytes_of(entry);
  bytes_ += size;
  by_age_[{entry.at, name}] = size;
  entries_.emplace(name, std::move(entry));
}

void Ledger::forget_old() {
  const auto since = clock_.now() - kAgeMax;
  while (!by_age_.empty()) {
    const auto& [key, size] = *by_age_.begin();
    if (entries_.size() <= kAnswersMax && bytes_ <= kBytesMax && key.first >= since) return;
    bytes_ -= size;
    entries_.erase(key.second);
    by_age_.erase(by_age_.begin());
  }
}

Result<const Ledger::Entry*> Ledger::find(const session::ClientMark& mark) const {
  const auto used = [&] {
    return Error(Errc::conflict, fmt::format("client_id '{}' was used for another request",
                                             utf8::excerpt(utf8::printable(mark.id))));
  };
  if (const auto now = under_way_.find(name_of(mark));
      now != under_way_.end() && now->second != mark.sum)
    return used();
  const auto found = entries_.find(name_of(mark));
  if (found == entries_.end()) return static_cast<const Entry*>(nullptr);
  if (found->second.mark.sum != mark.sum) return used();
  return &found->second;
}

bool Ledger::begin(const session::ClientMark& mark) {
  return under_way_.emplace(name_of(mark), mark.sum).second;
}

void Ledger::end(const session::ClientMark& mark) {
  under_way_.erase(name_of(mark));
  ended_.notify_all();
}

Task<void> Ledger::keep(session::ClientMark mark, std::vector<std::string> messages) {
  Entry entry{std::move(mark), std::move(messages), clock_.now()};
  unwritten_ += line_of(entry);
  ++lines_;
  take(std::move(entry));
  forget_old();
  const auto mine = ++wanted_;
  // Requests that come while it is written share the next write.
  while (written_ < mine) {
    if (busy_) {
      co_await changed_.wait();
    } else {
      co_await flush();
    }
  }
}

Task<void> Ledger::flush() {
  busy_ = true;
  const auto upto = wanted_;
  const bool anew = doubtful_ || lines_ > 2 * entries_.size() + 1000;
  std::string bytes = std::exchange(unwritten_, {});
  if (anew) {
    bytes.clear();
    for (const auto& [key, size] : by_age_) bytes += line_of(entries_.at(key.second));
  }
  const auto done = anew ? co_await answers_.replace(std::move(bytes))
                         : co_await answers_.append(std::move(bytes));
  if (done && anew) lines_ = entries_.size();
  // Lines that are not there now are written with the next.
  doubtful_ = !done;
  if (!done)
    log::error("answers: {}; a retry after a restart may be done again", done.error().what);
  written_ = upto;
  busy_ = false;
  changed_.notify_all();
}

namespace {

class Once final : public protocol::MessageStream {
 public:
  Once(Ledger& ledger, session::ClientMark mark, bool single,
       std::function<protocol::Answer()> make)
      : ledger_(ledger), mark_(std::move(mark)), single_(single), make_(std::move(make)) {}
  ~Once() override {
    if (begun_) ledger_.end(mark_);
  }

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (over_) co_return std::nullopt;
    if (!inner_ && again_.empty()) {
      const auto ready = co_await start();
      if (!ready) {
        over_ = true;
        co_return protocol::make_error(ready.error());
      }
    }
    if (!again_.empty()) co_return take_again();
    // A change that is made is remembered, also when its client has left meanwhile.
    if (single_) co_return co_await shielded(pull());
    co_return co_await pull();
  }

 private:
  Task<Status> start() {
    REEF_CO_CHECK(co_await ledger_.load());
    for (;;) {
      REEF_CO_TRY(const auto* known, ledger_.find(mark_));
      if (known) {
        again_ = known->messages;
        co_return Ok{};
      }
      if (ledger_.begin(mark_)) break;
      co_await ledger_.wait_for_end();
    }
    begun_ = true;
    inner_ = make_();
    co_return Ok{};
  }

  std::optional<protocol::ServerMessage> take_again() {
    protocol::ServerMessage message;
    const bool read = protocol::parse(message, again_[told_++]);
    over_ = told_ == again_.size();
    if (read) return message;
    over_ = true;
    return protocol::make_error(Error(Errc::corrupt, "what was answered before cannot be read"));
  }

  Task<std::optional<protocol::ServerMessage>> pull() {
    auto message = co_await inner_->next();
    if (message) {
      failed_ = failed_ || message->has_error();
      auto bytes = message->SerializeAsString();
      bytes_ += bytes.size();
      if (bytes_ > Ledger::kAnswerBytesMax) messages_.clear();
      messages_.push_back(std::move(bytes));
    }
    over_ = !message || single_;
    // A request that failed changed nothing, and may be tried again.
    if (over_ && !failed_ && !messages_.empty() &&
        messages_.back().size() <= Ledger::kAnswerBytesMax)
      co_await ledger_.keep(mark_, std::move(messages_));
    if (over_) {
      ledger_.end(mark_);
      begun_ = false;
    }
    co_return message;
  }

  Ledger& ledger_;
  session::ClientMark mark_;
  bool single_;
  std::function<protocol::Answer()> make_;
  protocol::Answer inner_;
  std::vector<std::string> again_;
  std::size_t told_ = 0;
  std::vector<std::string> messages_;
  std::size_t bytes_ = 0;
  bool begun_ = false;
  bool failed_ = false;
  bool over_ = false;
};

}  // namespace

protocol::Answer answer_once(Ledger& ledger, session::ClientMark mark, bool single,
                             std::function<protocol::Answer()> make) {
  return std::make_unique<Once>(ledger, std::move(mark), single, std::move(make));
}

}  // namespace reef::server
