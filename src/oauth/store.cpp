#include "oauth/store.h"

#include <algorithm>

#include "base/log.h"

namespace reef::oauth {
namespace {

// Limits far above real use; the oldest are dropped.
constexpr std::size_t kGrantsMax = 1'000;
constexpr std::size_t kRegistrationsMax = 1'000;
// All of those, with the longest tokens there are.
constexpr std::uint64_t kBytesMax = 256U << 20;
const std::string kName = "logins.json";

}  // namespace

Task<Status> Store::load() {
  auto* const documents = needs_.documents;
  if (!documents) co_return Ok{};
  auto read = [documents] { return documents->read(kName, kBytesMax); };
  const auto document = co_await needs_.pool.run(read);
  if (!document) co_return document.error();
  if (!*document) co_return Ok{};
  const auto value = json::parse((*document)->bytes);
  if (value && value->is_object()) {
    take(value->get_object());
    co_return Ok{};
  }
  const auto name = kName + ".broken";
  auto aside = [&] { return documents->rename(kName, name, session::Whatever{}); };
  const auto moved = co_await needs_.pool.run(aside);
  co_return Error(Errc::corrupt,
                  kName + ": it cannot be read" + (moved ? "; it is kept as " + name : ""));
}

void Store::take(const json::object& document) {
  const auto each = [&](std::string_view key, const auto& add) {
    if (const auto* list = json::find_array(document, key))
      for (const auto& one : *list)
        if (const auto* fields = one.if_object()) add(*fields);
  };
  each("grants", [&](const json::object& fields) {
    if (auto grant = grant_from(fields)) grants_.push_back(*std::move(grant));
  });
  each("clients", [&](const json::object& fields) {
    if (auto one = registration_from(fields)) registrations_.push_back(*std::move(one));
  });
}

std::string Store::text() const {
  json::array grants, clients;
  for (const auto& grant : grants_) grants.push_back(to_json(grant));
  for (const auto& one : registrations_) clients.push_back(to_json(one));
  return json::write(json::object{
             {"version", 1}, {"grants", std::move(grants)}, {"clients", std::move(clients)}}) +
         "\n";
}

Task<Status> Store::save() {
  ++version_;
  if (needs_.documents && !std::exchange(writing_, true)) tasks_.spawn(write_on());
  return written(version_);
}

Task<void> Store::write_on() {
  co_await yield_to_loop();
  while (written_ < version_) {
    const auto version = version_;
    auto write = [this, bytes = text()]() -> Status {
      REEF_TRY(const auto kept, needs_.documents->replace(kName, bytes, session::Whatever{}));
      static_cast<void>(kept);
      return Ok{};
    };
    last_ = co_await needs_.pool.run(write);
    written_ = version;
    if (!last_) log::error("logins could not be kept: {}", last_.error().what);
    changed_.notify_all();
  }
  writing_ = false;
}

Task<Status> Store::written(std::uint64_t version) {
  if (!needs_.documents) co_return Ok{};
  while (written_ < version) co_await changed_.wait();
  co_return last_;
}

const Grant* Store::find(std::string_view server, std::string_view identity) const {
  const auto found = std::find_if(grants_.begin(), grants_.end(), [&](const Grant& one) {
    return one.server == server && one.identity == identity;
  });
  return found == grants_.end() ? nullptr : &*found;
}

Task<Status> Store::put(Grant grant) {
  std::erase_if(grants_, [&](const Grant& one) {
    return one.server == grant.server && one.identity == grant.identity;
  });
  if (grants_.size() >= kGrantsMax) grants_.erase(grants_.begin());
  grants_.push_back(std::move(grant));
  return save();
}

Task<Status> Store::drop(std::string server, std::string identity) {
  const auto dropped = std::erase_if(
      grants_, [&](const Grant& one) { return one.server == server && one.identity == identity; });
  if (dropped == 0) co_return Ok{};
  co_return co_await save();
}

std::vector<Registration> Store::registrations(std::string_view issuer) const {
  std::vector<Registration> out;
  for (auto it = registrations_.rbegin(); it != registrations_.rend(); ++it)
    if (it->issuer == issuer) out.push_back(*it);
  return out;
}

Task<Status> Store::put(Registration registration) {
  std::erase_if(registrations_, [&](const Registration& one) {
    return one.issuer == registration.issuer && one.redirect_uri == registration.redirect_uri;
  });
  if (registrations_.size() >= kRegistrationsMax) registrations_.erase(registrations_.begin());
  registrations_.push_back(std::move(registration));
  return save();
}

Task<Status> Store::drop(Registration registration) {
  return std::erase(registrations_, registration) > 0 ? save() : written(0);
}

}  // namespace reef::oauth
