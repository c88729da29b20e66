#include "search/checked_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "search/packing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reef::search {
namespace {

constexpr std::string_view kMagic = "reefidx2";
constexpr std::size_t kFooterBytes = 32;
constexpr std::size_t kWriteBytes = 1024 * 1024;
static_assert(kWriteBytes % kPieceBytes == 0);

std::uint64_t hash(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t pieces_of(std::uint64_t content) {
  return (content + kPieceBytes - 1) / kPieceBytes;
}

void put_pieces(std::string& out, std::string_view content) {
  for (std::size_t at = 0; at < content.size(); at += kPieceBytes)
    put_fixed(out, hash(content.substr(at, kPieceBytes)));
}

std::string make_footer(std::uint64_t content, std::string_view pieces) {
  std::string out;
  put_fixed(out, content);
  put_fixed(out, hash(pieces));
  put_fixed(out, content + pieces.size() + kFooterBytes);
  put_fixed(out, hash(std::string(kMagic) + out));
  return out;
}

Error damaged_file(std::string_view why) {
  return {Errc::corrupt, std::string(why)};
}

}  // namespace

std::string seal(std::string content) {
  std::string pieces;
  put_pieces(pieces, content);
  const auto footer = make_footer(content.size(), pieces);
  return std::move(content) + pieces + footer;
}

Result<CheckedFileWriter> CheckedFileWriter::create(Files& files, std::string path) {
  REEF_TRY(Fd fd, files.open(path, Files::Open::create));
  return CheckedFileWriter(files, std::move(path), std::move(fd));
}

CheckedFileWriter::CheckedFileWriter(CheckedFileWriter&& other) noexcept
    : files_(other.files_),
      path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      pending_(std::move(other.pending_)),
      pieces_(std::move(other.pieces_)),
      offset_(other.offset_) {}

CheckedFileWriter::~CheckedFileWriter() {
  if (path_.empty()) return;
  fd_.reset();
  static_cast<void>(files_->remove(path_).ok());  // a file left behind is removed by the next open
}

Status CheckedFileWriter::write(std::string_view bytes) {
  pending_.append(bytes);
  offset_ += bytes.size();
  return pending_.size() >= kWriteBytes ? flush(false) : Status(Ok{});
}

Status CheckedFileWriter::align() {
  const std::size_t over = offset_ % 8;
  return over == 0 ? Status(Ok{}) : write(std::string(8 - over, '\0'));
}

Status CheckedFileWriter::flush(bool all) {
  const auto whole = all ? pending_.size() : pending_.size() / kPieceBytes * kPieceBytes;
  const auto ready = std::string_view(pending_).substr(0, whole);
  put_pieces(pieces_, ready);
  if (auto done = write_all(*files_, fd_.get(), ready); !done)
    return std::move(done).error().with(path_);
  pending_.erase(0, whole);
  return Ok{};
}

Result<std::uint64_t> CheckedFileWriter::finish() {
  REEF_CHECK(align());
  REEF_CHECK(flush(true));
  const auto tail = pieces_ + make_footer(offset_, pieces_);
  auto done = write_all(*files_, fd_.get(), tail);
  if (done) done = files_->sync(fd_.get());
  if (!done) return std::move(done).error().with(path_);
  fd_.reset();
  path_.clear();
  return offset_ + tail.size();
}

Result<std::unique_ptr<CheckedFile>> CheckedFile::open(Files& files, const std::string& path,
                                                       std::uint64_t bytes) {
  REEF_TRY(const Fd fd, files.open(path, Files::Open::read));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.size != bytes || bytes < kFooterBytes) return damaged_file(path + " has another length");
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) return sys_error(errno, "map " + path);
  std::unique_ptr<CheckedFile> out(new CheckedFile);
  out->data_ = static_cast<const char*>(mapped);
  out->length_ = bytes;
  out->mapped_ = true;
  // Postings are read in no order, so reading ahead would fill memory with pages nobody asked for.
  ::madvise(mapped, bytes, MADV_RANDOM);
  if (auto read = out->read_footer(); !read) return std::move(read).error().with(path);
  return out;
}

Result<std::unique_ptr<CheckedFile>> CheckedFile::over(std::string_view file) {
  std::unique_ptr<CheckedFile> out(new CheckedFile);
  out->data_ = file.data();
  out->length_ = file.size();
  REEF_CHECK(out->read_footer());
  return out;
}

CheckedFile::~CheckedFile() {
  if (mapped_) ::munmap(const_cast<char*>(data_), length_);
}

Status CheckedFile::read_footer() {
  if (length_ < kFooterBytes) return damaged_file("too short");
  const std::string_view bytes(data_ + length_ - kFooterBytes, kFooterBytes);
  ByteReader footer(bytes);
  const auto content = footer.fixed<std::uint64_t>();
  const auto pieces_hash = footer.fixed<std::uint64_t>();
  const auto length = footer.fixed<std::uint64_t>();
  const auto own_hash = footer.fixed<std::uint64_t>();
  if (own_hash != hash(std::string(kMagic) + std::string(bytes.substr(0, 24))))
    return damaged_file("not an index file of this version, or damaged");
  const auto pieces = pieces_of(content);
  if (length != length_ || content > length_ || content % 8 != 0 ||
      length_ - content != pieces * sizeof(std::uint64_t) + kFooterBytes)
    return damaged_file("lengths do not add up");
  const std::string_view table(data_ + content, pieces * sizeof(std::uint64_t));
  if (hash(table) != pieces_hash) return damaged_file("the checksums are damaged");
  content_ = content;
  pieces_ = table.data();
  checked_ = std::vector<std::atomic<std::uint64_t>>((pieces + 63) / 64);
  return Ok{};
}

bool CheckedFile::check(std::string_view bytes) const {
  if (bytes.empty()) return true;
  const auto from = static_cast<std::uint64_t>(bytes.data() - data_);
  const auto last = (from + bytes.size() - 1) / kPieceBytes;
  for (auto piece = from / kPieceBytes; piece <= last; ++piece) {
    auto& word = checked_[piece / 64];
    const auto bit = std::uint64_t{1} << (piece % 64);
    if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
    const auto at = piece * kPieceBytes;
    std::uint64_t expected = 0;
    std::memcpy(&expected, pieces_ + piece * sizeof expected, sizeof expected);
    if (hash({data_ + at, std::min<std::uint64_t>(kPieceBytes, content_ - at)}) != expected) {
      mark_damaged();
      return false;
    }
    word.fetch_or(bit, std::memory_order_relaxed);
  }
  return true;
}

void CheckedFile::release(std::string_view bytes) const {
  if (!mapped_ || bytes.empty()) return;
  constexpr std::uint64_t kPage = 4096;
  const auto begin = static_cast<std::uint64_t>(bytes.data() - data_);
  const auto from = (begin + kPage - 1) / kPage * kPage;
  const auto to = (begin + bytes.size()) / kPage * kPage;
  if (to > from) ::madvise(const_cast<char*>(data_) + from, to - from, MADV_DONTNEED);
}

}  // namespace reef::search
