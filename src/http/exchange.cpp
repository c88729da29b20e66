// One request and its answer, as libcurl's callbacks see it.
#include <unistd.h>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/tcp_table.h"
#include "base/utf8.h"
#include "http/host.h"
#include "http/multi.h"

namespace reef::http {
namespace {

constexpr std::size_t kHeaderBytesMax = 256U << 10;
constexpr std::size_t kHeadersMax = 512;

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* exchange) {
  static_cast<Exchange*>(exchange)->take_header({data, size * count});
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* exchange) {
  return static_cast<Exchange*>(exchange)->take_body({data, size * count}) ? size * count
                                                                           : CURL_WRITEFUNC_PAUSE;
}

// libcurl calls this before it sends any of the request.
int on_connected(void* data, char*, char*, int port, int) {
  auto& exchange = *static_cast<Exchange*>(data);
  if (exchange.request.own_user_only && !listener_is_ours(static_cast<std::uint16_t>(port))) {
    exchange.failure = Error(Errc::denied, fmt::format("another user listens on port {}", port));
    return CURL_PREREQFUNC_ABORT;
  }
  exchange.connected = true;
  exchange.changed.notify_all();
  return CURL_PREREQFUNC_OK;
}

int on_close(void* multi, curl_socket_t socket) {
  static_cast<Multi*>(multi)->forget(socket);
  return ::close(socket);
}

bool is_clean(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; });
}

Errc errc_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return Errc::timeout;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return Errc::invalid;
    default:
      return Errc::unavailable;
  }
}

// Returns the host for error messages; the other parts of a URL may hold secrets.
std::string host_of(const std::string& url) {
  auto at = url.find("://");
  at = at == std::string::npos ? 0 : at + 3;
  auto host = url.substr(at, url.find_first_of("/?#", at) - at);
  if (const auto user = host.rfind('@'); user != std::string::npos) host.erase(0, user + 1);
  return host;
}

}  // namespace

Exchange::Exchange(std::shared_ptr<Multi> owner, Request what)
    : multi(std::move(owner)), request(std::move(what)), changed(multi->loop) {
  multi->live.insert(this);
}

Exchange::~Exchange() {
  leave();
  if (easy) curl().easy_cleanup(easy);
  curl().slist_free_all(lines);
  multi->live.erase(this);
  if (multi->live.empty()) multi->left.notify_all();
}

void Exchange::leave() {
  if (!std::exchange(added, false)) return;
  curl().multi_remove_handle(multi->handle, easy);
}

Status Exchange::start(const Timeouts& limits, const std::string& ca_file) {
  timeouts = limits;
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || !is_clean(name) || !is_clean(value))
      return Error(Errc::invalid, fmt::format("the header '{}' cannot be sent",
                                              utf8::single_line(utf8::sanitize(name))));
    auto* longer =
        curl().slist_append(lines, (value.empty() ? name + ";" : name + ": " + value).c_str());
    REEF_ASSERT(longer);
    lines = longer;
  }
  if (auto* longer = curl().slist_append(lines, "Expect:")) lines = longer;

  easy = curl().easy_init();
  REEF_ASSERT(easy);
  const auto set = [this](CURLoption option, auto value) {
    return curl().easy_setopt(easy, option, value) == CURLE_OK;
  };
  bool good = set(CURLOPT_URL, request.url.c_str());
  good = set(CURLOPT_PROTOCOLS_STR, "http,https") && good;
  good = set(CURLOPT_HTTPHEADER, lines) && good;
  if (request.method == "POST") {
    good = set(CURLOPT_POST, 1L) && good;
    good = set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size())) && good;
    good = set(CURLOPT_POSTFIELDS, request.body.data()) && good;
  } else if (request.method != "GET") {
    good = set(CURLOPT_CUSTOMREQUEST, request.method.c_str()) && good;
  }
  good = set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS)) && good;
  good = set(CURLOPT_FOLLOWLOCATION, 0L) && good;
  good = set(CURLOPT_ACCEPT_ENCODING, "") && good;
  good = set(CURLOPT_NOSIGNAL, 1L) && good;
  // Lets a cancelled request return without waiting for its name lookup.
  good = set(CURLOPT_QUICK_EXIT, 1L) && good;
  good = set(CURLOPT_TCP_KEEPALIVE, 1L) && good;
  good = set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) && good;
  good = set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count())) && good;
  // Nothing on this machine is behind a proxy.
  if (is_loopback_host(host_in(request.url))) good = set(CURLOPT_PROXY, "") && good;
  if (!ca_file.empty()) good = set(CURLOPT_CAINFO, ca_file.c_str()) && good;
  good = set(CURLOPT_ERRORBUFFER, why) && good;
  good = set(CURLOPT_PRIVATE, static_cast<void*>(this)) && good;
  good = set(CURLOPT_HEADERFUNCTION, on_header) && good;
  good = set(CURLOPT_HEADERDATA, static_cast<void*>(this)) && good;
  good = set(CURLOPT_WRITEFUNCTION, on_body) && good;
  good = set(CURLOPT_WRITEDATA, static_cast<void*>(this)) && good;
  good = set(CURLOPT_PREREQFUNCTION, on_connected) && good;
  good = set(CURLOPT_PREREQDATA, static_cast<void*>(this)) && good;
  good = set(CURLOPT_CLOSESOCKETFUNCTION, on_close) && good;
  good = set(CURLOPT_CLOSESOCKETDATA, static_cast<void*>(multi.get())) && good;
  if (!good) return Error(Errc::internal, "libcurl is too old or lacks an option Reef needs");
  if (curl().multi_add_handle(multi->handle, easy) != CURLM_OK)
    return Error(Errc::internal, "libcurl refused a request");
  added = true;
  return Ok{};
}

void Exchange::end(CURLcode code) {
  leave();
  // Once the request is out, "invalid" can only mean a malformed answer.
  const auto kind = connected && errc_of(code) == Errc::invalid ? Errc::unavailable : errc_of(code);
  if (code != CURLE_OK && !failure)
    failure = Error(kind, fmt::format("{}: {}", host_of(request.url),
                                      why[0] ? why : curl().easy_strerror(code)));
  ended = true;
  changed.notify_all();
}

void Exchange::take_header(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (head_done) return;  // this line is a trailer
  if (line.empty()) {
    head_done = status >= 200;  // a status below 200 is an interim answer
    if (head_done) changed.notify_all();
    return;
  }
  if (line.starts_with("HTTP/")) {
    headers.clear();
    header_bytes = 0;
    long code = 0;
    curl().easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    status = static_cast<int>(code);
    return;
  }
  header_bytes += line.size();
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || header_bytes > kHeaderBytesMax ||
      headers.size() >= kHeadersMax)
    return;
  auto value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  headers.emplace_back(utf8::lower_ascii(line.substr(0, colon)), value);
}

bool Exchange::take_body(std::string_view bytes) {
  if (body.size() >= kBufferBytesMax) {
    paused = true;
    return false;
  }
  body += bytes;
  changed.notify_all();
  return true;
}

void Exchange::resume() {
  if (!std::exchange(paused, false) || !added) return;
  curl().easy_pause(easy, CURLPAUSE_CONT);
}

}  // namespace reef::http
