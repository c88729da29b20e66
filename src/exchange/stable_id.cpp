#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include "exchange/exchange.h"

namespace reef::exchange {

session::EntryId stable_id(std::string_view seed) {
  return session::EntryId{fmt::format("{:016x}", XXH3_64bits(seed.data(), seed.size()))};
}

}  // namespace reef::exchange
