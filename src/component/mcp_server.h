// The server side of MCP for tools, both eras, without state: a request in, an answer out.
#pragma once

#include <map>
#include <string>

#include "component/component.h"

namespace reef::component {

struct HttpRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;
};

struct HttpReply {
  int status = 200;
  std::string body = {};   // JSON; may be empty
  std::string allow = {};  // for a 405
};

// Never throws; `service` and `request` outlive the task.
Task<HttpReply> answer(const Service& service, const HttpRequest& request);

}  // namespace reef::component
