// Tokens and registered clients, in memory and in one file of mode 0600 (docs/mcp.md). Loop thread;
// the file is written on the pool, one write at a time, always whole.
#pragma once

#include "base/notify.h"
#include "base/task_group.h"
#include "oauth/tokens.h"

namespace reef::oauth {

class Store {
 public:
  explicit Store(const House& house)
      : house_(house), changed_(house.loop), tasks_(house.loop, "oauth store") {}

  // A file that cannot be read is moved aside; nobody is logged in then.
  Task<Status> load();

  const Grant* find(std::string_view server, std::string_view identity) const;
  // Each is done at once and on its way to the disk, whatever becomes of who waits until it is
  // durable. One grant for a server and an identity: the last one.
  Task<Status> put(Grant grant);
  Task<Status> drop(std::string server, std::string identity);

  // The clients of an issuer, the last one first.
  std::vector<Registration> registrations(std::string_view issuer) const;
  Task<Status> put(Registration registration);
  Task<Status> drop(Registration registration);

  // Returns when everything is written.
  Task<void> settle() { return tasks_.join(); }

 private:
  std::string text() const;
  void take(const json::object& document);
  Task<Status> save();
  Task<void> write_on();
  Task<Status> written(std::uint64_t version);

  const House& house_;
  std::vector<Grant> grants_;
  std::vector<Registration> registrations_;
  std::uint64_t version_ = 0, written_ = 0;
  bool writing_ = false;
  Status last_ = Ok{};
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace reef::oauth
