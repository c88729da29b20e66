// Serves requests on 127.0.0.1, one coroutine for each connection. Loop thread.
#pragma once

#include <cstdint>

#include <boost/asio/ip/tcp.hpp>

#include "base/task_group.h"
#include "component/mcp_server.h"

namespace reef::component {

class HttpServer {
 public:
  // Listens on a port that the system chooses and answers 401 to requests without `token` as their
  // bearer. `service` must outlive it.
  static Result<std::unique_ptr<HttpServer>> listen(Executor loop, const Service& service,
                                                    std::string token);

  std::uint16_t port() const { return port_; }
  Task<void> stop();

 private:
  HttpServer(Executor loop, const Service& service, std::string token,
             boost::asio::ip::tcp::acceptor acceptor);

  Task<void> accept();
  Task<void> serve(boost::asio::ip::tcp::socket socket);

  const Service& service_;
  std::string wanted_;  // the whole value of the header
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  TaskGroup tasks_;
};

}  // namespace reef::component
