#include "server/entrance.h"

#include <algorithm>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::server {
namespace {

bool is_folder_on_disk(const std::string& path) {
  struct ::stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

class Entrance::Ticket {
 public:
  Ticket(Entrance& all, std::string line) : all_(all), line_(std::move(line)) {
    if (!line_.empty()) all_.lines_[line_].push_back(this);
  }
  ~Ticket() {
    if (line_.empty()) return;
    auto& line = all_.lines_[line_];
    std::erase(line, this);
    if (line.empty()) all_.lines_.erase(line_);
    all_.changed_.notify_all();
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  bool is_first() const { return line_.empty() || all_.lines_.at(line_).front() == this; }
  bool cancelled = false;

 private:
  Entrance& all_;
  const std::string line_;
};

Entrance::Entrance(Executor loop, runtime::Runtime& runtime, Options options)
    : runtime_(runtime),
      options_(std::move(options)),
      changed_(loop),
      pool_(options_.looks_max),
      tasks_(loop, "entrance") {
  if (!options_.is_folder) options_.is_folder = is_folder_on_disk;
}

Entrance::Entrance(Executor loop, runtime::Runtime& runtime)
    : Entrance(std::move(loop), runtime, Options{}) {}

Result<std::string> Entrance::line_of(const runtime::Message& message) const {
  if (message.ephemeral) return std::string();
  REEF_TRY(const auto address, runtime_.resolve(message.agent, message.sender, message.key));
  return address.key.text();
}

Result<std::shared_ptr<Entrance::Ticket>> Entrance::draw(const runtime::Message& message) {
  REEF_TRY(auto line, line_of(message));
  return std::make_shared<Ticket>(*this, std::move(line));
}

bool Entrance::is_free(const runtime::Message& message) const {
  if (!message.cwd.empty() || message.client) return false;
  if (lines_.empty()) return true;
  const auto line = line_of(message);
  return !line || !lines_.contains(*line);
}

Task<Result<std::shared_ptr<runtime::Run>>> Entrance::let_in(std::shared_ptr<Ticket> ticket,
                                                             runtime::Message message) {
  const Error killed(Errc::cancelled, "the message was cancelled before its turn came");
  const auto stop = [&] { return ticket->cancelled; };
  const auto there = co_await check("cwd", message.cwd, stop);
  while (there && !ticket->cancelled && !ticket->is_first()) co_await changed_.wait();
  if (ticket->cancelled) co_return killed;
  if (!there) co_return there.error();
  if (message.client) co_return co_await runtime_.submit_once(std::move(message));
  co_return runtime_.submit(std::move(message));
}

Status Entrance::kill(std::string_view agent, std::string_view sender,
                      const std::optional<std::string>& key, bool all) {
  const bool found = !lines_.empty() && cancel(agent, sender, key, all);
  const auto killed = runtime_.kill(agent, sender, key, all);
  if (!killed && found && killed.error().code == Errc::not_found) return Ok{};
  return killed;
}

bool Entrance::cancel(std::string_view agent, std::string_view sender,
                      const std::optional<std::string>& key, bool all) {
  const auto address = runtime_.resolve(agent, sender, key);
  const auto line = address ? lines_.find(address->key.text()) : lines_.end();
  // A turn that runs is killed, and a message that is on its way comes next.
  if (line == lines_.end() || (!all && runtime_.activity(address->key).running)) return false;
  for (auto* ticket : line->second) {
    ticket->cancelled = true;
    if (!all) break;
  }
  changed_.notify_all();
  return true;
}

Task<Status> Entrance::check_folder(std::string name, std::string path) {
  return check(std::move(name), std::move(path), [] { return false; });
}

Task<void> Entrance::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Status> Entrance::check(std::string name, std::string path, std::function<bool()> stop) {
  if (path.empty()) co_return Ok{};
  const auto shown = utf8::excerpt(utf8::printable(path));
  const auto error = [&](Errc code, std::string_view why) {
    return Error(code, fmt::format("{} '{}' {}", name, shown, why));
  };
  if (!path.starts_with('/')) co_return error(Errc::invalid, "must be an absolute path");
  if (path.find('\0') != std::string::npos)
    co_return error(Errc::invalid, "is no folder on this machine");
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto deadline = steady_now(loop) + options_.patience;
  while (!looks_.contains(path) && looks_.size() >= options_.looks_max) {
    if (stop()) co_return Ok{};
    if (steady_now(loop) >= deadline)
      co_return error(Errc::busy, "is not looked for: others do not answer; try again");
    co_await changed_.wait_until(deadline);
  }
  auto& known = looks_[path];
  if (!known) {
    known = std::make_shared<Look>();
    tasks_.spawn(look_at(path, known));
  }
  const auto look = known;
  while (!look->found) {
    if (stop()) co_return Ok{};
    if (steady_now(loop) >= deadline)
      co_return error(Errc::timeout,
                      fmt::format("does not answer: its disk was waited for for {} s",
                                  options_.patience / std::chrono::seconds(1)));
    co_await changed_.wait_until(deadline);
  }
  if (!*look->found) co_return look->found->error();
  if (!**look->found) co_return error(Errc::invalid, "is no folder on this machine");
  co_return Ok{};
}

Task<void> Entrance::look_at(std::string path, std::shared_ptr<Look> look) {
  auto work = [is_folder = options_.is_folder, path](const std::stop_token&) {
    return is_folder(path);
  };
  try {
    look->found = co_await pool_.run_leavable(work);
  } catch (const std::bad_alloc&) {
    look->found = Error(Errc::internal, "there was no memory to look for a folder");
  }
  looks_.erase(path);
  changed_.notify_all();
}

}  // namespace reef::server
