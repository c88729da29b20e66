// Signed words: ES256 keys and the JWTs made with them, PKCE, and randomness that nobody guesses.
// Pure functions but for the randomness. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

struct evp_pkey_st;

namespace reef::oauth {

// RFC 4648 section 5, without padding.
std::string base64url(std::string_view bytes);
// `bytes` of the system's randomness, as base64url.
std::string random_word(std::size_t bytes);

// RFC 7636, S256.
std::string challenge_of(std::string_view verifier);

// An EC P-256 key.
class SigningKey {
 public:
  static Result<SigningKey> from_pem(const std::string& pem);
  static Result<SigningKey> make();

  std::string pem() const;
  json::object jwk() const;                       // the public half
  std::string sign(std::string_view text) const;  // r and s, 64 bytes

 private:
  explicit SigningKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

std::string make_jwt(json::object header, const json::object& claims, const SigningKey& key);

// RFC 7523: that a request is the client's. `now` in seconds.
std::string client_assertion(const SigningKey& key, const std::string& key_id,
                             const std::string& client, const std::string& audience,
                             std::int64_t now);

// RFC 9449: that a request is of whoever has the key. The token where one is shown, the nonce where
// one was asked for.
std::string dpop_proof(const SigningKey& key, std::string_view method, std::string_view url,
                       std::string_view token, std::string_view nonce, std::int64_t now);

}  // namespace reef::oauth
