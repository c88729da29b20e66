#include "base/change_log.h"

#include <algorithm>

#include "base/assert.h"
#include "base/random.h"

namespace reef {
namespace {

constexpr std::size_t kBellsMin = 64;

std::uint64_t drawn_epoch() {
  SystemRandom random;
  return std::max<std::uint64_t>(random.next(), 1);
}

}  // namespace

ChangeLog::ChangeLog(Executor loop, std::size_t keys_max, std::uint64_t epoch)
    : loop_(loop),
      keys_max_(keys_max),
      epoch_(epoch == 0 ? drawn_epoch() : epoch),
      changed_(std::move(loop)) {}

void ChangeLog::touch(const std::string& key) {
  auto& version = versions_[key];
  if (version != 0) keys_.erase(version);
  version = ++version_;
  keys_.emplace_hint(keys_.end(), version, key);
  if (keys_.size() > keys_max_) forget_up_to(keys_.begin()->first);
  changed_.notify_all();
  ring(key);
}

void ChangeLog::give_up(const std::string& key) {
  if (const auto version = version_of(key); version != 0) forget_up_to(version);
}

void ChangeLog::give_up_all() {
  // A version of its own, so that those who are up to date are told as well.
  ++version_;
  forget_up_to(version_);
  changed_.notify_all();
}

void ChangeLog::forget_up_to(std::uint64_t version) {
  while (!keys_.empty() && keys_.begin()->first <= version) {
    versions_.erase(keys_.begin()->second);
    keys_.erase(keys_.begin());
  }
  forgotten_ = std::max(forgotten_, version);
}

std::vector<ChangeLog::Change> ChangeLog::after(std::uint64_t version, std::size_t most) const {
  REEF_ASSERT(remembers(version));
  std::vector<Change> out;
  for (auto it = keys_.upper_bound(version); it != keys_.end() && out.size() < most; ++it)
    out.push_back(Change{it->first, it->second});
  return out;
}

std::uint64_t ChangeLog::version_of(const std::string& key) const {
  const auto found = versions_.find(key);
  return found == versions_.end() ? 0 : found->second;
}

std::shared_ptr<Notify> ChangeLog::bell(const std::string& key) {
  if (bells_.size() >= kBellsMin && bells_.size() >= 2 * bells_swept_) {
    std::erase_if(bells_, [](const auto& one) { return one.second.expired(); });
    bells_swept_ = bells_.size();
  }
  auto& known = bells_[key];
  if (auto bell = known.lock()) return bell;
  auto bell = std::make_shared<Notify>(loop_);
  known = bell;
  return bell;
}

void ChangeLog::ring(const std::string& key) {
  if (bells_.empty()) return;
  const auto found = bells_.find(key);
  if (found == bells_.end()) return;
  if (const auto bell = found->second.lock()) {
    bell->notify_all();
  } else {
    bells_.erase(found);
  }
}

}  // namespace reef
