#include "exchange/crabtalk/crab_file.h"

#include <fmt/format.h>

#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

constexpr std::uint64_t kHeaderBytes = 32;
constexpr std::uint64_t kIndexBytesMax = 256ULL << 20;
constexpr std::uint32_t kKeyBytesMax = 64U << 10;
constexpr std::uint64_t kWindowBytes = 1ULL << 20;

std::uint64_t number_at(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t out = 0;
  for (int i = size; i-- > 0;)
    out = out << 8U | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return out;
}

}  // namespace

Result<CrabFile> CrabFile::open(Files& files, const std::string& path) {
  REEF_TRY(auto fd, open_source(files, path));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  CrabFile out(files, std::move(fd), stat);
  REEF_TRY(const auto head, out.bytes(0, kHeaderBytes));
  const bool ours = std::string_view(head).starts_with(std::string_view("CRMEM\0", 6)) &&
                    number_at(head, 6, 4) == 1 && number_at(head, 10, 2) == 0;
  if (!ours) return Error(Errc::corrupt, "not a store of CrabTalk's");
  const auto at = number_at(head, 16, 8), size = number_at(head, 24, 8);
  std::uint64_t from = kHeaderBytes;
  if (size > 0) {
    const bool inside = at >= kHeaderBytes && at <= stat.size && size <= stat.size - at;
    if (!inside || !out.read_index(at, size)) {
      out.records_.clear();
    } else {
      from = at + size;
    }
  }
  REEF_CHECK(out.replay(from));
  return out;
}

Result<std::string> CrabFile::bytes(std::uint64_t at, std::uint64_t size) const {
  if (at > stat_.size || size > stat_.size - at) return Error(Errc::corrupt, "it ends too early");
  REEF_TRY(auto out, read_range(*files_, fd_.get(), at, size));
  if (out.size() != size) return Error(Errc::corrupt, "it ends too early");
  return out;
}

Result<std::uint32_t> CrabFile::length(std::uint64_t at) const {
  REEF_TRY(const auto four, bytes(at, 4));
  return static_cast<std::uint32_t>(number_at(four, 0, 4));
}

// Search indexes and harness images are not needed here.
void CrabFile::put(std::uint8_t column, std::string key, std::optional<std::uint64_t> at) {
  if (column > Column::skill && column != Column::config) return;
  if (at) {
    records_.insert_or_assign({column, std::move(key)}, *at);
  } else {
    records_.erase({column, std::move(key)});
  }
}

Status CrabFile::read_index(std::uint64_t at, std::uint64_t size) {
  if (size > kIndexBytesMax) return Error(Errc::too_large, "its index is too large");
  REEF_TRY(const auto index, bytes(at, size));
  std::size_t next = 4;
  if (index.size() < next) return Error(Errc::corrupt, "its index is cut off");
  for (auto left = number_at(index, 0, 4); left > 0; --left) {
    constexpr std::size_t kFixed = 1 + 4 + 8;
    if (index.size() - next < kFixed) return Error(Errc::corrupt, "its index is cut off");
    const auto key = number_at(index, next + 1, 4);
    if (key > kKeyBytesMax || index.size() - next - kFixed < key)
      return Error(Errc::corrupt, "its index is cut off");
    put(static_cast<std::uint8_t>(index[next]), index.substr(next + 5, key),
        number_at(index, next + 5 + key, 8));
    next += kFixed + key;
  }
  return Ok{};
}

// Reads the records after the index, or all of them. Values are skipped, not read.
Status CrabFile::replay(std::uint64_t from) {
  std::string window;
  std::uint64_t start = 0;
  // Returns bytes of the file; empty when it ends before them.
  const auto at = [&](std::uint64_t place, std::uint64_t size) -> Result<std::string_view> {
    if (place > stat_.size || size > stat_.size - place) return std::string_view();
    if (place < start || place + size > start + window.size()) {
      REEF_TRY(window, bytes(place, std::min(std::max(size, kWindowBytes), stat_.size - place)));
      start = place;
    }
    return std::string_view(window).substr(place - start, size);
  };
  for (auto next = from; next < stat_.size;) {
    REEF_TRY(const auto fixed, at(next, 6));
    torn_ = true;
    if (fixed.empty()) return Ok{};
    const auto op = static_cast<std::uint8_t>(fixed[0]);
    const auto column = static_cast<std::uint8_t>(fixed[1]);
    const auto size = number_at(fixed, 2, 4);
    if (op > 1 || size > kKeyBytesMax)
      return records_.empty()
                 ? Status(Error(Errc::corrupt, fmt::format("byte {} is no record", next)))
                 : Status(Ok{});
    REEF_TRY(const auto named, at(next + 6, size + 4));
    if (named.empty()) return Ok{};
    std::string key(named.substr(0, size));
    const auto value = number_at(named, size, 4);
    const auto end = next + 6 + size + 4 + value;
    if (end > stat_.size) return Ok{};
    put(column, std::move(key), op == 0 ? std::optional(next) : std::nullopt);
    next = end;
    torn_ = false;
  }
  return Ok{};
}

std::vector<std::string> CrabFile::keys(Column column, std::string_view prefix) const {
  std::vector<std::string> out;
  for (auto it = records_.lower_bound({column, std::string(prefix)});
       it != records_.end() && it->first.first == column && it->first.second.starts_with(prefix);
       ++it)
    out.push_back(it->first.second.substr(prefix.size()));
  return out;
}

bool CrabFile::has(Column column, const std::string& key) const {
  return records_.contains({column, key});
}

Result<std::string> CrabFile::value(Column column, const std::string& key) const {
  const auto found = records_.find({column, key});
  if (found == records_.end()) return Error(Errc::not_found, "it is not in the store");
  const auto at = found->second;
  REEF_TRY(const auto fixed, bytes(at, 6));
  const auto size = number_at(fixed, 2, 4);
  // The index is believed only where the record agrees with it.
  if (fixed[0] != 0 || static_cast<std::uint8_t>(fixed[1]) != column || size != key.size())
    return Error(Errc::corrupt, "the index leads to another record");
  REEF_TRY(const auto name, bytes(at + 6, size));
  if (name != key) return Error(Errc::corrupt, "the index leads to another record");
  REEF_TRY(const auto value, length(at + 6 + size));
  if (value > kLineBytesMax) return Error(Errc::too_large, "a value of more than 32 MiB");
  return bytes(at + 10 + size, value);
}

}  // namespace reef::exchange
