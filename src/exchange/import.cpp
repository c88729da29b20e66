#include "exchange/import.h"

#include <climits>
#include <cstdlib>

#include <fmt/format.h>

#include "exchange/import_job.h"

namespace reef::exchange {
namespace {

std::string real_path(const std::string& path) {
  char* found = ::realpath(path.c_str(), nullptr);
  const std::string out = found ? found : path;
  std::free(found);
  return out;
}

}  // namespace

void Import::cancel() {
  job_->cancel();
}
bool Import::done() const {
  return job_->done();
}
const Status& Import::outcome() const {
  return job_->outcome();
}
bool Import::cancelled() const {
  return job_->cancelled();
}
std::uint64_t Import::bytes_total() const {
  return job_->bytes_total;
}
std::vector<Problem> Import::take_problems() {
  return job_->take_problems();
}
std::uint64_t Import::problems_left_out() const {
  return job_->problems_left_out();
}
std::vector<Problem> Import::take_refused() {
  return job_->take_refused();
}
std::vector<ImportDirectory> Import::directories() const {
  return job_->directories();
}
bool Import::agents_came() const {
  return job_->agents_came;
}

ImportCounts Import::counts() const {
  const auto& job = *job_;
  return ImportCounts{job.sessions, job.added, job.continued,   job.unchanged,
                      job.entries,  job.bytes, job.definitions, job.redacted};
}

Task<void> Import::wait(std::chrono::milliseconds patience) {
  const auto job = job_;
  static_cast<void>(co_await job->changed().wait_for(patience, [job] { return job->done(); }));
}

Importer::Importer(ImportNeeds needs) : needs_(std::move(needs)), tasks_(needs_.loop, "imports") {}
Importer::~Importer() = default;

Result<Import> Importer::start(ImportRequest request) {
  if (stopping_) return Error(Errc::unavailable, "the daemon is shutting down");
  if (running_) return Error(Errc::busy, "another import is running; wait for its end");
  if (!request.path.starts_with('/'))
    return Error(Errc::invalid, "the path of an import must be absolute");
  if (request.path.find('\0') != std::string::npos)
    return Error(Errc::invalid, "the path of an import must not hold NUL");
  const auto stat = needs_.files.stat_path(request.path);
  if (!stat) return stat.error();
  const auto path = real_path(request.path) + "/";
  const auto home = real_path(needs_.home) + "/";
  if (path.starts_with(home))
    return Error(Errc::invalid, request.path + " is Reef's own; what is in it is here already");
  running_ = std::make_shared<ImportJob>(needs_, std::move(request));
  tasks_.spawn(run(running_));
  return Import(running_);
}

Task<void> Importer::run(std::shared_ptr<ImportJob> job) {
  co_await job->run();
  running_ = nullptr;
}

void Importer::cancel() {
  if (running_) running_->cancel();
}

Task<void> Importer::stop() {
  stopping_ = true;
  cancel();
  co_await tasks_.join();
}

}  // namespace reef::exchange
