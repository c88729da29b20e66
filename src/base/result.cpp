#include "base/result.h"

#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace reef {
namespace {

// In the order of Errc.
constexpr ErrcTraits kTraits[] = {
    {"invalid", 400, 1},     {"unauthorized", 401, 1}, {"denied", 403, 1},
    {"not_found", 404, 1},   {"conflict", 409, 1},     {"gone", 410, 1},
    {"too_large", 413, 1},   {"busy", 429, 1},         {"cancelled", 499, 1},
    {"timeout", 504, 1},     {"no_space", 507, 1},     {"io", 500, 1},
    {"corrupt", 500, 1},     {"provider", 502, 1},     {"unavailable", 503, 1},
    {"unsupported", 501, 1}, {"internal", 500, 1},
};
static_assert(std::size(kTraits) == static_cast<std::size_t>(Errc::internal) + 1);

Errc errc_from_errno(int number) {
  switch (number) {
    case ENOENT:
      return Errc::not_found;
    case EEXIST:
      return Errc::conflict;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::denied;
    case ENOSPC:
    case EDQUOT:
      return Errc::no_space;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
      return Errc::unavailable;
    case ETIMEDOUT:
      return Errc::timeout;
    case ENAMETOOLONG:
    case EINVAL:
      return Errc::invalid;
    case EADDRINUSE:
      return Errc::conflict;
    default:
      return Errc::io;
  }
}

}  // namespace

const ErrcTraits& traits(Errc code) {
  const auto index = static_cast<std::size_t>(code);
  REEF_ASSERT(index < std::size(kTraits));
  return kTraits[index];
}

Errc errc_from_wire(std::uint32_t wire_code) {
  if (wire_code == 500) return Errc::internal;
  for (std::size_t i = 0; i < std::size(kTraits); ++i)
    if (kTraits[i].wire_code == wire_code) return static_cast<Errc>(i);
  return wire_code >= 400 && wire_code < 500 ? Errc::invalid : Errc::internal;
}

Error sys_error(int number, std::string_view what) {
  std::string text(what);
  text += ": ";
  char buffer[128];
  text += ::strerror_r(number, buffer, sizeof buffer);
  return Error(errc_from_errno(number), std::move(text), number);
}

}  // namespace reef
