// The bytes of one connection, in the clear or through TLS. For http_server/ only. Loop thread.
#pragma once

#include <memory>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/result.h"
#include "base/task.h"

namespace reef::http_server {

using Socket = boost::asio::generic::stream_protocol::socket;

// Errors are values here.
inline constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

struct Moved {
  boost::system::error_code error;
  std::size_t bytes = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  // Shakes hands, if this kind of wire does.
  virtual Task<boost::system::error_code> begin() = 0;
  virtual Task<Moved> read_some(boost::asio::mutable_buffer into) = 0;
  virtual Task<Moved> write_some(boost::asio::const_buffer from) = 0;
  // Says that nothing more will be written.
  virtual Task<void> finish() = 0;
  virtual Socket& socket() = 0;
};

class Tls {
 public:
  virtual ~Tls() = default;
  virtual std::unique_ptr<Wire> wrap(Socket socket) = 0;
};

}  // namespace reef::http_server
