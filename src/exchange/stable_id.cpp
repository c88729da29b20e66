#define XXH_INLINE_ALL
#include <xxhash.h>

#include "exchange/exchange.h"

namespace reef::exchange {

session::EntryId stable_id(std::string_view seed) {
  constexpr std::string_view kHex = "0123456789abcdef";
  auto hash = XXH3_64bits(seed.data(), seed.size());
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, hash >>= 4U)
    *digit = kHex[hash & 15U];
  return session::EntryId{std::move(text)};
}

}  // namespace reef::exchange
