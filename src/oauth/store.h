// Tokens and registered clients, in memory and in one file of mode 0600 (docs/mcp.md). Loop thread;
// the file is written on the pool, one write at a time, always whole.
#pragma once

#include "base/notify.h"
#include "oauth/tokens.h"

namespace reef::oauth {

class Store {
 public:
  explicit Store(const House& house) : house_(house), changed_(house.loop) {}

  // A file that cannot be read is moved aside; nobody is logged in then.
  Task<Status> load();

  const Grant* find(std::string_view server, std::string_view identity) const;
  // Each returns when it is durable. One grant for a server and an identity: the last one.
  Task<Status> put(Grant grant);
  Task<Status> drop(std::string server, std::string identity);

  // The clients of an issuer, the last one first.
  std::vector<Registration> registrations(std::string_view issuer) const;
  Task<Status> put(Registration registration);
  Task<Status> drop(Registration registration);

 private:
  std::string text() const;
  void take(const json::object& document);
  Task<Status> save();

  const House& house_;
  std::vector<Grant> grants_;
  std::vector<Registration> registrations_;
  bool writing_ = false;
  Notify changed_;
};

}  // namespace reef::oauth
