// ES256 keys and the JWTs signed with them, PKCE, and random words that nobody can guess. Pure
// functions except for the randomness. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

struct evp_pkey_st;

namespace reef::oauth {

// Base64url of RFC 4648 section 5, without padding.
std::string base64url(std::string_view bytes);
// Returns `bytes` random bytes from the system, as base64url.
std::string random_word(std::size_t bytes);

// The S256 challenge of RFC 7636.
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

// Proves that a request comes from the client (RFC 7523). `now` is in seconds.
std::string client_assertion(const SigningKey& key, const std::string& key_id,
                             const std::string& client, const std::string& audience,
                             std::int64_t now);

// Proves that a request comes from the holder of the key (RFC 9449). `token` and `nonce` may be
// empty when the request carries none.
std::string dpop_proof(const SigningKey& key, std::string_view method, std::string_view url,
                       std::string_view token, std::string_view nonce, std::int64_t now);

}  // namespace reef::oauth
