// Tokens and registered clients, in memory and in one file of mode 0600 (docs/mcp.md). Loop thread;
// the pool writes the file, one write at a time and always the whole file.
#pragma once

#include "base/notify.h"
#include "base/task_group.h"
#include "oauth/tokens.h"

namespace reef::oauth {

class Store {
 public:
  explicit Store(const Needs& needs)
      : needs_(needs), changed_(needs.loop), tasks_(needs.loop, "oauth store") {}

  // Moves an unreadable file aside; then nobody is logged in.
  Task<Status> load();

  const Grant* find(std::string_view server, std::string_view identity) const;
  // Each change applies at once and is written even if the caller stops waiting; it is durable when
  // the call returns. There is one grant for a server and an identity, the last one put.
  Task<Status> put(Grant grant);
  Task<Status> drop(std::string server, std::string identity);

  // Returns the clients of an issuer, newest first.
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

  const Needs& needs_;
  std::vector<Grant> grants_;
  std::vector<Registration> registrations_;
  std::uint64_t version_ = 0, written_ = 0;
  bool writing_ = false;
  Status last_ = Ok{};
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace reef::oauth
