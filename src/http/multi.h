// Runs libcurl's multi handle on the loop: watches the sockets it wants watched and calls it when
// it wants to be called. Internal to http/. Loop thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/notify.h"
#include "http/http.h"
#include "http/library.h"

namespace reef::http {

// One request and its answer. The callbacks only fill it and wake its reader; they never resume a
// coroutine from inside libcurl.
struct Exchange {
  Exchange(std::shared_ptr<Multi> owner, Request what);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  Status start(const Timeouts& limits, const std::string& ca_file);
  // Ends the exchange; closes its connection unless the answer is complete.
  void leave();
  void end(CURLcode code);
  void take_header(std::string_view line);
  // Returns false when the buffer is full and the peer has to wait.
  bool take_body(std::string_view bytes);
  void resume();

  std::shared_ptr<Multi> multi;
  Request request;
  Timeouts timeouts;
  CURL* easy = nullptr;
  curl_slist* lines = nullptr;
  char why[CURL_ERROR_SIZE] = {};

  bool added = false;      // libcurl has it
  bool connected = false;  // the request is being sent
  bool head_done = false;
  bool ended = false;
  bool paused = false;
  int status = 0;
  Headers headers;
  std::size_t header_bytes = 0;
  std::string body;
  std::optional<Error> failure;
  Notify changed;
};

struct Multi : std::enable_shared_from_this<Multi> {
  explicit Multi(Executor executor);
  ~Multi();
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  struct Watch {
    explicit Watch(const Executor& loop) : descriptor(loop) {}
    boost::asio::posix::stream_descriptor descriptor;
    int wanted = CURL_POLL_NONE;
    bool reading = false;
    bool writing = false;
  };

  void want(curl_socket_t socket, int what);
  void forget(curl_socket_t socket);
  void set_timer(long milliseconds);
  void act(curl_socket_t socket, int events);
  void shut();

  Executor loop;
  CURLM* handle = nullptr;
  boost::asio::steady_timer timer;
  std::unordered_map<curl_socket_t, std::shared_ptr<Watch>> watches;
  std::set<Exchange*> live;
  Notify left;

 private:
  void arm(curl_socket_t socket, const std::shared_ptr<Watch>& watch);
  void wait(curl_socket_t socket, const std::shared_ptr<Watch>& watch, bool write);
};

}  // namespace reef::http
