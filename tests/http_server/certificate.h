// A self-signed certificate for 127.0.0.1, made on the spot.
#pragma once

#include <string>

namespace reef::test {

struct Certificate {
  std::string certificate, key;  // PEM
};
// Each has another name, so that a client can tell which one it was shown.
Certificate make_certificate(const std::string& name);

}  // namespace reef::test
