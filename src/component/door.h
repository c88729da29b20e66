// What stands before a component's tools: HTTP on a port of 127.0.0.1, for those who know its
// token. Loop thread.
#pragma once

#include <memory>
#include <string>

#include "component/component.h"
#include "http_server/http_server.h"

namespace reef::component {

// Listens on a port that the system chooses and answers 401 to requests without `token` as their
// bearer. `service` must outlive the server.
Result<std::unique_ptr<http_server::Server>> open_door(Executor loop, const Service& service,
                                                       std::string token);

}  // namespace reef::component
