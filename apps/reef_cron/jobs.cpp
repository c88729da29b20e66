#include "jobs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "component/component.h"

namespace reef::cron {

namespace {

// Minutes of the day; nullopt when the text is not HH:MM.
std::optional<int> minutes_of(std::string_view text) {
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4))
    return std::nullopt;
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (hour > 23 || minute > 59) return std::nullopt;
  return hour * 60 + minute;
}

}  // namespace

bool is_quiet(const Job& job, std::time_t now) {
  const auto from = minutes_of(job.quiet_start);
  const auto to = minutes_of(job.quiet_end);
  if (!from || !to) return false;
  std::tm local = {};
  ::localtime_r(&now, &local);
  const int at = local.tm_hour * 60 + local.tm_min;
  return *from <= *to ? at >= *from && at < *to : at >= *from || at < *to;
}

Result<Jobs> Jobs::load(Files& files, std::string path, std::time_t now) {
  Jobs out(files, std::move(path));
  REEF_CHECK(out.read(now));
  return out;
}

void Jobs::note_stat() {
  const auto stat = files_->stat_path(path_);
  stat_ = stat ? std::optional(*stat) : std::nullopt;
}

Status Jobs::read(std::time_t now) {
  note_stat();
  const auto text = read_all(*files_, path_);
  if (!text && text.error().code == Errc::not_found) return Ok{};
  if (!text) return text.error();
  auto parsed = json::parse(*text);
  if (!parsed) return std::move(parsed).error().with(path_);
  if (!parsed->is_object()) return Error(Errc::invalid, path_ + ": must be an object");
  for (const auto& [name, value] : parsed->get_object()) {
    if (!value.is_object())
      return Error(Errc::invalid,
                   fmt::format("{}: {}: must be an object", path_, std::string_view(name)));
    if (auto put = this->put(std::string(name), value.get_object(), now); !put)
      return std::move(put).error().with(path_);
  }
  return Ok{};
}

Status Jobs::look(std::time_t now) {
  const auto stat = files_->stat_path(path_);
  const bool same =
      stat && stat_ && stat->size == stat_->size && stat->modified_ns == stat_->modified_ns;
  if (same || (!stat && !stat_)) return Ok{};
  Jobs fresh(*files_, path_);
  auto done = fresh.read(now);
  stat_ = fresh.stat_;
  if (!done) return done;
  for (auto& [name, job] : fresh.jobs_)
    if (const auto before = jobs_.find(name); before != jobs_.end()) {
      job.last_error = before->second.last_error;
      if (before->second.schedule.text() == job.schedule.text()) job.due = before->second.due;
    }
  jobs_ = std::move(fresh.jobs_);
  return Ok{};
}

Status Jobs::put(const std::string& name, const json::object& from, std::time_t now) {
  const auto text = [&](std::string_view key) {
    return std::string(json::find_string(from, key).value_or(""));
  };
  auto schedule = Schedule::parse(text("schedule"));
  if (!schedule) return std::move(schedule).error().with(name);
  const auto due = schedule->next(now);
  if (!due) return Error(Errc::invalid, fmt::format("{}: its time never comes", name));
  Job job{*std::move(schedule), text("agent"), text("message"), *due};
  job.sender = text("sender");
  job.quiet_start = text("quietStart");
  job.quiet_end = text("quietEnd");
  for (const auto& bound : {job.quiet_start, job.quiet_end})
    if (!bound.empty() && !minutes_of(bound))
      return Error(Errc::invalid,
                   fmt::format("{}: '{}' is no time like 22:30", name, utf8::excerpt(bound)));
  job.once = json::find_bool(from, "once").value_or(false);
  jobs_.insert_or_assign(name, std::move(job));
  return Ok{};
}

Status Jobs::save(const std::map<std::string, Job>& jobs) {
  json::object out;
  for (const auto& [name, job] : jobs) {
    json::object one{
        {"schedule", job.schedule.text()}, {"agent", job.agent}, {"message", job.message}};
    if (!job.sender.empty()) one["sender"] = job.sender;
    if (!job.quiet_start.empty()) one["quietStart"] = job.quiet_start;
    if (!job.quiet_end.empty()) one["quietEnd"] = job.quiet_end;
    if (job.once) one["once"] = true;
    out[name] = std::move(one);
  }
  REEF_CHECK(replace_atomically(*files_, path_, json::write(out) + "\n"));
  note_stat();
  return Ok{};
}

Status Jobs::said(const std::string& name) {
  const auto found = jobs_.find(name);
  return found != jobs_.end() && found->second.once ? remove(name) : Ok{};
}

Status Jobs::add(const std::string& name, const std::string& schedule, std::string agent,
                 std::string message, std::time_t now) {
  // The name becomes part of a key and is shown in lists.
  if (!component::is_service_name(name))
    return Error(Errc::invalid, "name: letters, digits, '-' and '_', at most 64");
  if (message.find_first_not_of(" \t\r\n") == std::string::npos)
    return Error(Errc::invalid, "message: must not be empty");
  if (message.size() > kMessageBytesMax)
    return Error(Errc::too_large, fmt::format("message: at most {} bytes", kMessageBytesMax));
  if (!jobs_.contains(name) && jobs_.size() >= kJobsMax)
    return Error(Errc::too_large, fmt::format("there are {} jobs already", kJobsMax));
  const auto before = jobs_;
  auto done =
      put(name, json::object{{"schedule", schedule}, {"agent", agent}, {"message", message}}, now);
  if (done) done = save(jobs_);
  if (!done) jobs_ = before;
  return done;
}

Status Jobs::remove(const std::string& name) {
  auto left = jobs_;
  if (left.erase(name) == 0)
    return Error(Errc::not_found, fmt::format("there is no job '{}'", utf8::excerpt(name)));
  REEF_CHECK(save(left));
  jobs_ = std::move(left);
  return Ok{};
}

std::vector<std::string> Jobs::take_due(std::time_t now) {
  std::vector<std::string> out;
  for (auto& [name, job] : jobs_) {
    if (job.due > now) continue;
    out.push_back(name);
    job.due = job.schedule.next(now).value_or(job.due);
  }
  return out;
}

void Jobs::note(const std::string& name, std::string error) {
  if (const auto found = jobs_.find(name); found != jobs_.end())
    found->second.last_error = std::move(error);
}

std::optional<std::time_t> Jobs::next() const {
  std::optional<std::time_t> out;
  for (const auto& [name, job] : jobs_) out = out ? std::min(*out, job.due) : job.due;
  return out;
}

}  // namespace reef::cron
