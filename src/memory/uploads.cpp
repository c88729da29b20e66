#include "memory/uploads.h"

#include <algorithm>

#include <fmt/format.h>

#include "memory/operations.h"

namespace reef::memory {
namespace {

constexpr std::size_t kUploadsMax = 2;

}  // namespace

Result<std::optional<std::string>> Uploads::add(std::string_view name, std::uint64_t offset,
                                                std::string_view part, bool last) {
  const auto found = std::find_if(uploads_.begin(), uploads_.end(),
                                  [&](const Upload& upload) { return upload.name == name; });
  Upload upload{std::string(name), {}};
  if (found != uploads_.end()) {
    if (offset > 0) upload.bytes = std::move(found->bytes);
    uploads_.erase(found);
  }
  if (offset != upload.bytes.size())
    return Error(Errc::conflict, "the load was given up meanwhile; start again");
  if (upload.bytes.size() + part.size() > kMemoryBytesMax)
    return Error(Errc::too_large, fmt::format("a memory has at most {} bytes", kMemoryBytesMax));
  upload.bytes += part;
  if (last) return std::optional<std::string>(std::move(upload.bytes));
  if (uploads_.size() >= kUploadsMax) uploads_.pop_front();
  uploads_.push_back(std::move(upload));
  return std::optional<std::string>();
}

}  // namespace reef::memory
