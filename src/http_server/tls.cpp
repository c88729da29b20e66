#include <string>
#include <sys/stat.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "base/log.h"
#include "http_server/http_server.h"
#include "http_server/wire.h"

namespace reef::http_server {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

class TlsWire final : public Wire {
 public:
  // A connection keeps the certificate it began with.
  TlsWire(Socket socket, std::shared_ptr<ssl::context> with)
      : context_(std::move(with)), stream_(std::move(socket), *context_) {}

  Task<boost::system::error_code> begin() override {
    const auto [error] = co_await stream_.async_handshake(ssl::stream_base::server, kAwait);
    co_return error;
  }
  Task<Moved> read_some(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await stream_.async_read_some(into, kAwait);
    co_return Moved{error, bytes};
  }
  Task<Moved> write_some(asio::const_buffer from) override {
    const auto [error, bytes] = co_await stream_.async_write_some(from, kAwait);
    co_return Moved{error, bytes};
  }
  Task<void> finish() override {
    // The peer's goodbye is not waited for: it may never come.
    SSL_set_shutdown(stream_.native_handle(), SSL_RECEIVED_SHUTDOWN);
    static_cast<void>(co_await stream_.async_shutdown(kAwait));
    boost::system::error_code ignored;
    stream_.lowest_layer().shutdown(asio::socket_base::shutdown_send, ignored);
  }
  Socket& socket() override { return stream_.next_layer(); }

 private:
  std::shared_ptr<ssl::context> context_;
  ssl::stream<Socket> stream_;
};

// This tells one version of a file from the next.
struct Version {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec changed = {};

  bool operator==(const Version& other) const {
    return device == other.device && inode == other.inode && size == other.size &&
           changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
  }
};

Version version_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size, found.st_ctim};
}

Result<std::shared_ptr<ssl::context>> context_from(const std::string& certificate,
                                                   const std::string& key) {
  auto out = std::make_shared<ssl::context>(ssl::context::tls_server);
  boost::system::error_code failed;
  out->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                       ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1,
                   failed);
  if (!failed) out->use_certificate_chain_file(certificate, failed);
  if (failed) return Error(Errc::invalid, certificate + ": " + failed.message());
  // Checks that it belongs to the certificate, too.
  out->use_private_key_file(key, ssl::context::pem, failed);
  if (failed) return Error(Errc::invalid, key + ": " + failed.message());
  return out;
}

class FileTls final : public Tls {
 public:
  FileTls(std::string certificate, std::string key)
      : certificate_(std::move(certificate)), key_(std::move(key)) {}

  Status load() {
    seen_ = {version_of(certificate_), version_of(key_)};
    REEF_TRY(context_, context_from(certificate_, key_));
    return Ok{};
  }

  std::unique_ptr<Wire> wrap(Socket socket) override {
    const Files now{version_of(certificate_), version_of(key_)};
    if (now != seen_)
      if (const auto loaded = load(); !loaded)
        log::warn("TLS goes on with the old certificate: {}", loaded.error().what);
    return std::make_unique<TlsWire>(std::move(socket), context_);
  }

 private:
  using Files = std::pair<Version, Version>;

  std::string certificate_, key_;
  Files seen_;
  std::shared_ptr<ssl::context> context_;
};

}  // namespace

Result<std::shared_ptr<Tls>> load_tls(std::string certificate_file, std::string key_file) {
  auto out = std::make_shared<FileTls>(std::move(certificate_file), std::move(key_file));
  REEF_CHECK(out->load());
  return std::shared_ptr<Tls>(std::move(out));
}

}  // namespace reef::http_server
