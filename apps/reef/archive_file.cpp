#include "archive_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <zstd.h>

#include "base/assert.h"

namespace reef::cli {
namespace {

constexpr std::size_t kPieceBytes = 256U << 10;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdTar final : public ArchiveWriter {
 public:
  ZstdTar(std::string path, std::string part, Fd fd, bool force)
      : path_(std::move(path)), part_(std::move(part)), fd_(std::move(fd)), force_(force) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }
  ~ZstdTar() override {
    if (fd_) ::unlink(part_.c_str());
  }

  Status begin(const exchange::TarFile& file) override {
    REEF_ASSERT(left_ == 0);
    left_ = size_ = file.size;
    return pack(exchange::tar_header(file), ZSTD_e_continue);
  }

  Status write(std::string_view bytes) override {
    if (bytes.size() > left_)
      return Error(Errc::unavailable, "the daemon sent more of a file than it said");
    left_ -= bytes.size();
    return pack(bytes, ZSTD_e_continue);
  }

  Status end() override {
    if (left_ > 0) return Error(Errc::unavailable, "the daemon sent less of a file than it said");
    return pack(exchange::tar_padding(size_), ZSTD_e_continue);
  }

  Result<std::uint64_t> finish() override {
    REEF_CHECK(pack(exchange::tar_end(), ZSTD_e_end));
    if (::fsync(fd_.get()) != 0) return sys_error(errno, "sync " + part_);
    REEF_TRY(const auto stat, files_.stat(fd_.get()));
    if (::renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, path_.c_str(),
                    force_ ? 0 : RENAME_NOREPLACE) != 0)
      return sys_error(errno, "write " + path_);
    fd_.reset();
    const auto slash = path_.find_last_of('/');
    REEF_CHECK(
        files_.sync_directory(slash == std::string::npos ? "." : path_.substr(0, slash + 1)));
    return stat.size;
  }

 private:
  Status pack(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const auto left = ZSTD_compressStream2(context_.get(), &out, &in, how);
      if (ZSTD_isError(left)) return Error(Errc::internal, ZSTD_getErrorName(left));
      auto written = write_all(files_, fd_.get(), std::string_view(buffer_.data(), out.pos));
      if (!written) return std::move(written).error().with("write " + path_);
      if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return Ok{};
    }
  }

  PosixFiles files_;
  std::string path_, part_;
  Fd fd_;  // open until the archive is whole
  bool force_;
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> context_{ZSTD_createCCtx()};
  std::string buffer_ = std::string(ZSTD_CStreamOutSize(), '\0');
  std::uint64_t size_ = 0, left_ = 0;  // of the file being written
};

}  // namespace

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::create(const std::string& path, bool force) {
  struct ::stat info = {};
  if (::stat(path.c_str(), &info) == 0 && (!force || !S_ISREG(info.st_mode)))
    return Error(Errc::conflict, fmt::format("{} exists{}", path,
                                             S_ISREG(info.st_mode) ? "; --force replaces it" : ""));
  const auto part = fmt::format("{}.{}.part", path, ::getpid());
  Fd fd(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return sys_error(errno, "write " + part);
  return std::unique_ptr<ArchiveWriter>(
      std::make_unique<ZstdTar>(path, part, std::move(fd), force));
}

Status read_archive(const std::string& path, exchange::TarReader::Sink& sink) {
  PosixFiles files;
  REEF_TRY(const Fd fd, files.open(path, Files::Open::read));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.directory) return Error(Errc::invalid, path + " is a folder, not an archive");
  const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  exchange::TarReader tar(sink);
  std::string unpacked(kPieceBytes, '\0');
  std::size_t expects = 1;  // 0 when a frame has just ended
  for (std::uint64_t at = 0;;) {
    REEF_TRY(const auto packed, read_range(files, fd.get(), at, kPieceBytes));
    if (packed.empty()) break;
    at += packed.size();
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    bool full = true;  // the decompressor may hold more output
    while (in.pos < in.size || full) {
      ZSTD_outBuffer out{unpacked.data(), unpacked.size(), 0};
      expects = ZSTD_decompressStream(context.get(), &out, &in);
      if (ZSTD_isError(expects))
        return Error(Errc::corrupt, fmt::format("{} is damaged, or not made by reef backup: {}",
                                                path, ZSTD_getErrorName(expects)));
      REEF_CHECK(tar.feed(std::string_view(unpacked.data(), out.pos)));
      full = out.pos == out.size;
      if (expects == 0 && in.pos == in.size) break;
    }
  }
  if (expects != 0) return Error(Errc::corrupt, path + " ends too early: it was cut off");
  return tar.finish();
}

}  // namespace reef::cli
