#include "jobs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "component/component.h"

namespace reef::cron {

Result<Jobs> Jobs::load(Files& files, std::string path, std::time_t now) {
  Jobs out(files, std::move(path));
  const auto text = read_all(files, out.path_);
  if (!text && text.error().code == Errc::not_found) return out;
  if (!text) return text.error();
  auto parsed = json::parse(*text);
  if (!parsed) return std::move(parsed).error().with(out.path_);
  if (!parsed->is_object()) return Error(Errc::invalid, out.path_ + ": must be an object");
  for (const auto& [name, value] : parsed->get_object()) {
    if (!value.is_object())
      return Error(Errc::invalid,
                   fmt::format("{}: {}: must be an object", out.path_, std::string_view(name)));
    if (auto put = out.put(std::string(name), value.get_object(), now); !put)
      return std::move(put).error().with(out.path_);
  }
  return out;
}

Status Jobs::put(const std::string& name, const json::object& from, std::time_t now) {
  const auto text = [&](std::string_view key) {
    return std::string(json::find_string(from, key).value_or(""));
  };
  auto schedule = Schedule::parse(text("schedule"));
  if (!schedule) return std::move(schedule).error().with(name);
  const auto due = schedule->next(now);
  if (!due) return Error(Errc::invalid, fmt::format("{}: its time never comes", name));
  jobs_.insert_or_assign(name, Job{*std::move(schedule), text("agent"), text("message"), *due});
  return Ok{};
}

Status Jobs::save(const std::map<std::string, Job>& jobs) const {
  json::object out;
  for (const auto& [name, job] : jobs)
    out[name] = json::object{
        {"schedule", job.schedule.text()}, {"agent", job.agent}, {"message", job.message}};
  return replace_atomically(*files_, path_, json::write(out) + "\n");
}

Status Jobs::add(const std::string& name, const std::string& schedule, std::string agent,
                 std::string message, std::time_t now) {
  // It becomes part of a key and is shown in lists.
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
