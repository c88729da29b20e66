// Fetches small documents from servers that are not trusted: only from allowed addresses, with
// limits on size and time; redirects are not followed. Loop thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/pool.h"
#include "http/http.h"
#include "oauth/address.h"
#include "session/documents.h"

namespace reef::oauth {

// The parts of the daemon that logins need; all must outlive them.
struct Needs {
  Executor loop;
  Clock& clock;
  std::function<http::Client&()> http;
  // Fetches a secret from its source (env:NAME, cmd:COMMAND), or returns the literal text.
  std::function<Task<Result<std::string>>(std::string source)> fetch;
  Files& files;  // a private key lies where its user put it
  reef::Pool& pool;
  session::Documents* documents = nullptr;     // where tokens are kept; nullptr: nowhere
  std::chrono::milliseconds patience{20'000};  // timeout of one answer
};

std::int64_t seconds_now(const Clock& clock);

struct Fetched {
  int status = 0;
  std::optional<json::object> document = {};  // set when the answer is a JSON object
  std::string nonce = {};                     // for the next DPoP proof
  bool good() const { return status >= 200 && status < 300; }
};

class Fetcher {
 public:
  Fetcher(const Needs& needs, Trust trust) : needs_(needs), trust_(std::move(trust)) {}

  const Needs& needs() const { return needs_; }
  const Trust& trust() const { return trust_; }
  Task<Result<Fetched>> get(std::string url);
  Task<Result<Fetched>> post(std::string url, std::string type, std::string body,
                             http::Headers headers = {});

 private:
  Task<Result<Fetched>> ask(http::Request request);

  const Needs& needs_;
  Trust trust_;
};

}  // namespace reef::oauth
