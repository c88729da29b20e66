#include "http/multi.h"

#include "base/assert.h"

namespace reef::http {
namespace asio = boost::asio;
namespace {

constexpr long kConnectionsKeptMax = 256;

int on_socket(CURL*, curl_socket_t socket, int what, void* multi, void*) {
  static_cast<Multi*>(multi)->want(socket, what);
  return 0;
}

int on_timer(CURLM*, long milliseconds, void* multi) {
  static_cast<Multi*>(multi)->set_timer(milliseconds);
  return 0;
}

}  // namespace

Multi::Multi(Executor executor) : loop(executor), timer(executor), left(executor) {
  handle = curl().multi_init();
  REEF_ASSERT(handle);
  curl().multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl().multi_setopt(handle, CURLMOPT_SOCKETDATA, this);
  curl().multi_setopt(handle, CURLMOPT_TIMERFUNCTION, on_timer);
  curl().multi_setopt(handle, CURLMOPT_TIMERDATA, this);
  curl().multi_setopt(handle, CURLMOPT_MAXCONNECTS, kConnectionsKeptMax);
}

Multi::~Multi() {
  shut();
}

void Multi::shut() {
  if (!handle) return;
  REEF_ASSERT(live.empty());
  curl().multi_cleanup(std::exchange(handle, nullptr));
  timer.cancel();
  while (!watches.empty()) forget(watches.begin()->first);
}

void Multi::want(curl_socket_t socket, int what) {
  if (what == CURL_POLL_REMOVE) {
    forget(socket);
    return;
  }
  auto& watch = watches[socket];
  if (!watch) {
    watch = std::make_shared<Watch>(loop);
    boost::system::error_code failed;
    watch->descriptor.assign(socket, failed);
    REEF_ASSERT(!failed);
  }
  watch->wanted = what;
  arm(socket, watch);
}

void Multi::forget(curl_socket_t socket) {
  const auto found = watches.find(socket);
  if (found == watches.end()) return;
  const auto watch = std::move(found->second);
  watches.erase(found);
  watch->wanted = CURL_POLL_NONE;
  // libcurl owns the socket; only the watching ends.
  static_cast<void>(watch->descriptor.release());
}

void Multi::arm(curl_socket_t socket, const std::shared_ptr<Watch>& watch) {
  if ((watch->wanted & CURL_POLL_IN) && !watch->reading) wait(socket, watch, false);
  if ((watch->wanted & CURL_POLL_OUT) && !watch->writing) wait(socket, watch, true);
}

void Multi::wait(curl_socket_t socket, const std::shared_ptr<Watch>& watch, bool write) {
  auto& waiting = write ? watch->writing : watch->reading;
  waiting = true;
  const auto kind =
      write ? asio::posix::descriptor_base::wait_write : asio::posix::descriptor_base::wait_read;
  watch->descriptor.async_wait(
      kind, [weak = weak_from_this(), socket, watch, write](boost::system::error_code failed) {
        (write ? watch->writing : watch->reading) = false;
        const auto self = weak.lock();
        if (!self || !self->handle) return;
        const int poll = write ? CURL_POLL_OUT : CURL_POLL_IN;
        const int event = write ? CURL_CSELECT_OUT : CURL_CSELECT_IN;
        // libcurl may have changed its wish while this event was on its way.
        if (!failed && (watch->wanted & poll)) self->act(socket, event);
        const auto still = self->watches.find(socket);
        if (still != self->watches.end() && still->second == watch) self->arm(socket, watch);
      });
}

void Multi::set_timer(long milliseconds) {
  timer.cancel();
  if (milliseconds < 0) return;
  timer.expires_after(std::chrono::milliseconds(milliseconds));
  timer.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    const auto self = weak.lock();
    if (!failed && self && self->handle) self->act(CURL_SOCKET_TIMEOUT, 0);
  });
}

void Multi::act(curl_socket_t socket, int events) {
  int running = 0;
  curl().multi_socket_action(handle, socket, events, &running);
  int left_over = 0;
  while (CURLMsg* message = curl().multi_info_read(handle, &left_over)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* owner = nullptr;
    curl().easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
    // Removing the handle invalidates the message.
    reinterpret_cast<Exchange*>(owner)->end(message->data.result);
  }
}

}  // namespace reef::http
