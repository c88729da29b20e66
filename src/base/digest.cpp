#include "base/digest.h"

#include <openssl/evp.h>

#include "base/assert.h"

namespace reef {

std::string sha256(std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const int done =
      ::EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                   ::EVP_sha256(), nullptr);
  REEF_ASSERT(done == 1);
  out.resize(size);
  return out;
}

}  // namespace reef
