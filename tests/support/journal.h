// The bytes of a journal.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "session/journal.h"
#include "support/run.h"

namespace reef::test {

inline std::string bytes_of(boost::asio::io_context& io, session::Journal& journal) {
  std::string bytes;
  const auto read = run(io, journal.read([&](const session::ByteSource& source) -> Status {
    REEF_TRY(bytes, source.read(0, source.size));
    return Ok{};
  }));
  EXPECT_TRUE(read);
  return bytes;
}

}  // namespace reef::test
