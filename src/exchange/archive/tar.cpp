#include "exchange/archive/tar.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/exchange.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kRecordBytesMax = 64U << 10;
constexpr std::uint64_t kOctalMax = 077777777777;    // eleven digits
constexpr std::uint64_t kFileBytesMax = 1ULL << 40;  // far above any file of ours
constexpr std::size_t kNameAt = 0, kNameSize = 100, kModeAt = 100, kSizeAt = 124, kTimeAt = 136,
                      kSumAt = 148, kSumSize = 8, kTypeAt = 156, kMagicAt = 257, kPrefixAt = 345,
                      kPrefixSize = 155;

std::uint64_t rest_of_block(std::uint64_t size) {
  return (kBlock - size % kBlock) % kBlock;
}

unsigned checksum(std::string_view block) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= kSumAt && i < kSumAt + kSumSize ? ' ' : static_cast<unsigned char>(block[i]);
  return sum;
}

void put(std::string& block, std::size_t at, std::string_view text) {
  block.replace(at, text.size(), text);
}

std::string block_for(std::string_view name, char type, std::uint64_t size, std::int64_t modified,
                      bool executable) {
  std::string block(kBlock, '\0');
  put(block, kNameAt, name.substr(0, kNameSize));
  put(block, kModeAt, executable ? "0000700" : "0000600");
  put(block, kModeAt + 8, "0000000");  // owner and group become those of whoever restores
  put(block, kModeAt + 16, "0000000");
  put(block, kSizeAt, fmt::format("{:011o}", std::min(size, kOctalMax)));
  put(block, kTimeAt,
      fmt::format("{:011o}",
                  std::clamp<std::int64_t>(modified, 0, static_cast<std::int64_t>(kOctalMax))));
  block[kTypeAt] = type;
  put(block, kMagicAt, std::string_view("ustar\00000", 8));
  put(block, kSumAt, fmt::format("{:06o}", checksum(block)));
  block[kSumAt + 7] = ' ';
  return block;
}

// "LENGTH name=value\n", where the length counts itself.
std::string record(std::string_view name, std::string_view value) {
  const auto rest = name.size() + value.size() + 3;
  auto length = rest + 1;
  while (fmt::formatted_size("{}", length) + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, name, value);
}

std::string_view text_at(std::string_view block, std::size_t at, std::size_t size) {
  const auto field = block.substr(at, size);
  return field.substr(0, field.find('\0'));
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(' ') - first + 1);
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error damaged(std::string_view why) {
  return Error(Errc::corrupt, fmt::format("the archive is damaged: {}", why));
}

}  // namespace

std::string tar_header(const TarFile& file) {
  std::string records;
  if (file.path.size() > kNameSize) records += record("path", file.path);
  if (file.size > kOctalMax) records += record("size", fmt::format("{}", file.size));
  std::string out;
  if (!records.empty())
    out = block_for("records", 'x', records.size(), file.modified, false) + records +
          tar_padding(records.size());
  return out + block_for(file.path, '0', file.size, file.modified, file.executable);
}

std::string tar_padding(std::uint64_t size) {
  return std::string(rest_of_block(size), '\0');
}

std::string tar_end() {
  return std::string(2 * kBlock, '\0');
}

Status TarReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    switch (state_) {
      case State::header: {
        const auto part = bytes.substr(0, kBlock - held_.size());
        held_ += part;
        bytes.remove_prefix(part.size());
        if (held_.size() < kBlock) return Ok{};
        const auto block = std::exchange(held_, {});
        REEF_CHECK(header(block));
        break;
      }
      case State::data:
      case State::skip:
      case State::record:
      case State::long_name: {
        const auto part = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
        if (state_ == State::data) REEF_CHECK(sink_.data(part));
        if (state_ == State::record || state_ == State::long_name) held_ += part;
        bytes.remove_prefix(part.size());
        left_ -= part.size();
        if (left_ == 0) REEF_CHECK(end_entry());
        break;
      }
      case State::padding: {
        const auto part = std::min<std::uint64_t>(left_, bytes.size());
        bytes.remove_prefix(part);
        left_ -= part;
        if (left_ == 0) state_ = State::header;
        break;
      }
      case State::end:
        return Ok{};  // the rest of the last block is ignored
    }
  }
  return Ok{};
}

Status TarReader::finish() const {
  if (state_ == State::end) return Ok{};
  return Error(Errc::corrupt, "the archive ends too early: it was cut off");
}

Status TarReader::header(std::string_view block) {
  if (block.find_first_not_of('\0') == std::string_view::npos) {
    if (!path_.empty()) return damaged("a name without its file");
    state_ = State::end;
    return Ok{};
  }
  if (number(text_at(block, kSumAt, kSumSize), 8) != checksum(block))
    return damaged("a header whose checksum is wrong");
  const auto written = number(text_at(block, kSizeAt, 12), 8);
  if (!written) return damaged("a size that is none");
  const char type = block[kTypeAt];
  const bool about_next = type == 'x' || type == 'L';
  left_ = about_next || size_ == UINT64_MAX ? *written : std::exchange(size_, UINT64_MAX);
  padding_ = rest_of_block(left_);
  if (left_ > kFileBytesMax) return damaged("a file larger than any disk");
  if ((about_next || type == 'g') && left_ > kRecordBytesMax) return damaged("a name without end");

  auto path = std::exchange(path_, {});
  if (path.empty()) {
    const auto prefix = text_at(block, kPrefixAt, kPrefixSize);
    path = text_at(block, kNameAt, kNameSize);
    if (!prefix.empty() && block.substr(kMagicAt, 6) == std::string_view("ustar\0", 6))
      path = std::string(prefix) + "/" + path;
  }
  if (path.starts_with("./")) path.erase(0, 2);
  switch (type) {
    case '0':
    case '\0':
      return begin_file(std::move(path), block);
    case '5':
    case 'g':
      state_ = State::skip;
      break;
    case 'x':
      state_ = State::record;
      break;
    case 'L':
      state_ = State::long_name;
      break;
    default:
      return Error(Errc::invalid, fmt::format("'{}' is a link or a device; only files belong here",
                                              utf8::excerpt(path)));
  }
  return left_ == 0 ? end_entry() : Ok{};
}

Status TarReader::begin_file(std::string path, std::string_view block) {
  REEF_CHECK(check_path(path));
  TarFile file;
  file.path = std::move(path);
  file.size = left_;
  file.modified = static_cast<std::int64_t>(number(text_at(block, kTimeAt, 12), 8).value_or(0));
  file.executable = (number(text_at(block, kModeAt, 8), 8).value_or(0) & 0100U) != 0;
  state_ = State::data;
  REEF_CHECK(sink_.begin(file));
  return left_ == 0 ? end_entry() : Ok{};
}

Status TarReader::end_entry() {
  if (state_ == State::data) REEF_CHECK(sink_.end());
  if (state_ == State::record) REEF_CHECK(take_records());
  if (state_ == State::long_name) {
    path_ = held_.substr(0, held_.find('\0'));
    held_.clear();
  }
  left_ = padding_;
  state_ = left_ == 0 ? State::header : State::padding;
  return Ok{};
}

Status TarReader::take_records() {
  const auto records = std::exchange(held_, {});
  std::string_view rest = records;
  while (!rest.empty()) {
    const auto space = rest.find(' ');
    const auto length =
        space == std::string_view::npos ? std::nullopt : number(rest.substr(0, space), 10);
    if (!length || *length <= space + 1 || *length > rest.size() || rest[*length - 1] != '\n')
      return damaged("a record that is none");
    const auto line = rest.substr(space + 1, *length - space - 2);
    rest.remove_prefix(*length);
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) return damaged("a record without a value");
    const auto value = line.substr(equals + 1);
    if (line.substr(0, equals) == "path") path_ = value;
    if (line.substr(0, equals) == "size") {
      const auto size = number(value, 10);
      if (!size) return damaged("a size that is none");
      size_ = *size;
    }
  }
  return Ok{};
}

}  // namespace reef::exchange
