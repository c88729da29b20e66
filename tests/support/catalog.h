// The bytes of a store's catalog.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "session/store.h"
#include "support/run.h"

namespace reef::test {

inline std::string catalog_of(boost::asio::io_context& io, session::Store& store) {
  std::string bytes;
  const auto read = run(io, store.read_catalog([&](const session::ByteSource& source) -> Status {
    REEF_TRY(bytes, source.read(0, source.size));
    return Ok{};
  }));
  EXPECT_TRUE(read);
  return bytes;
}

}  // namespace reef::test
