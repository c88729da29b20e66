#include "http_server/certificate.h"

#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace reef::test {
namespace {

std::string text_of(BIO* from) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(from, &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

Certificate make_certificate(const std::string& name) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> certificate_out(BIO_new(BIO_s_mem()), BIO_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> key_out(BIO_new(BIO_s_mem()), BIO_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key.get());
  auto* subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), subject);
  const bool good = X509_sign(made.get(), key.get(), EVP_sha256()) != 0 &&
                    PEM_write_bio_X509(certificate_out.get(), made.get()) == 1 &&
                    PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                             nullptr) == 1;
  if (!good) throw std::runtime_error("no certificate could be made");
  return {text_of(certificate_out.get()), text_of(key_out.get())};
}

}  // namespace reef::test
