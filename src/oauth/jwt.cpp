#include "oauth/jwt.h"

#include <array>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/digest.h"

namespace reef::oauth {
namespace {

constexpr std::int64_t kAssertionSeconds = 300;
constexpr int kHalf = 32;  // bytes of r, of s and of each coordinate

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* it) const {
    Free(it);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Context = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;

// Keeps OpenSSL from asking for a passphrase on the daemon's terminal.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

std::string coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  REEF_ASSERT(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  std::string out(kHalf, '\0');
  const int size = BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), kHalf);
  BN_free(number);
  REEF_ASSERT(size == kHalf);
  return out;
}

}  // namespace

std::string base64url(std::string_view bytes) {
  auto out = to_base64(bytes);
  for (auto& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  out.resize(std::min(out.find('='), out.size()));
  return out;
}

std::string random_word(std::size_t bytes) {
  std::string out(bytes, '\0');
  REEF_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(bytes)) ==
              1);
  return base64url(out);
}

std::string challenge_of(std::string_view verifier) {
  return base64url(sha256(verifier));
}

Result<SigningKey> SigningKey::from_pem(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  REEF_ASSERT(bio);
  std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr),
                                EVP_PKEY_free);
  ERR_clear_error();
  if (!key) return Error(Errc::invalid, "it holds no private key in PEM that can be read");
  std::array<char, 64> group{};
  std::size_t size = 0;
  const bool is_p256 = EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_EC &&
                       EVP_PKEY_get_utf8_string_param(key.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                                      group.data(), group.size(), &size) == 1 &&
                       std::string_view(group.data(), size) == "prime256v1";
  ERR_clear_error();
  if (!is_p256) return Error(Errc::unsupported, "its key is not an EC key on P-256 (ES256)");
  return SigningKey(std::move(key));
}

Result<SigningKey> SigningKey::make() {
  std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  if (!key) return Error(Errc::internal, "a key could not be made");
  return SigningKey(std::move(key));
}

std::string SigningKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  REEF_ASSERT(bio && PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                              nullptr) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

json::object SigningKey::jwk() const {
  return {{"crv", "P-256"},
          {"kty", "EC"},
          {"x", base64url(coordinate(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X))},
          {"y", base64url(coordinate(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y))}};
}

std::string SigningKey::sign(std::string_view text) const {
  const Context context(EVP_MD_CTX_new());
  REEF_ASSERT(context &&
              EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::array<unsigned char, 128> der{};
  std::size_t size = der.size();
  REEF_ASSERT(EVP_DigestSign(context.get(), der.data(), &size, bytes, text.size()) == 1);
  const unsigned char* at = der.data();
  const Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  REEF_ASSERT(signature);
  std::array<unsigned char, 2 * kHalf> out{};
  REEF_ASSERT(BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out.data(), kHalf) == kHalf);
  REEF_ASSERT(BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out.data() + kHalf, kHalf) == kHalf);
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

std::string make_jwt(json::object header, const json::object& claims, const SigningKey& key) {
  header["alg"] = "ES256";
  const auto text = base64url(json::write(header)) + "." + base64url(json::write(claims));
  return text + "." + base64url(key.sign(text));
}

std::string client_assertion(const SigningKey& key, const std::string& key_id,
                             const std::string& client, const std::string& audience,
                             std::int64_t now) {
  json::object header{{"typ", "JWT"}};
  if (!key_id.empty()) header["kid"] = key_id;
  const json::object claims{{"iss", client},   {"sub", client},
                            {"aud", audience}, {"jti", random_word(16)},
                            {"iat", now},      {"exp", now + kAssertionSeconds}};
  return make_jwt(std::move(header), claims, key);
}

std::string dpop_proof(const SigningKey& key, std::string_view method, std::string_view url,
                       std::string_view token, std::string_view nonce, std::int64_t now) {
  json::object claims{{"jti", random_word(16)},
                      {"htm", method},
                      {"htu", url.substr(0, url.find_first_of("?#"))},
                      {"iat", now}};
  if (!token.empty()) claims["ath"] = base64url(sha256(token));
  if (!nonce.empty()) claims["nonce"] = nonce;
  return make_jwt({{"typ", "dpop+jwt"}, {"jwk", key.jwk()}}, claims, key);
}

}  // namespace reef::oauth
