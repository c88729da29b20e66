// Every file operation of the stores goes through this, one method per system call, so that a test
// can make the n-th call fail. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

class Files {
 public:
  enum class Open : std::uint8_t {
    read,
    append,  // existing file, writes go to the end
    create,  // new file, conflict when it exists; mode 0600
    source,  // somebody else's file, to read: never waits (a pipe), leaves no trace where it may
    plain,   // as source, and not through a symbolic link
  };
  struct Stat {
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    bool directory = false;
    bool regular = false;  // a file, not a pipe or a device
  };

  virtual ~Files() = default;

  // busy when another process holds a lease on the file (fcntl F_SETLEASE), which the kernel takes
  // away only after 45 s. Opening to read waits a second for that, any other opening does not.
  virtual Result<Fd> open(const std::string& path, Open how) = 0;
  // May write less than asked.
  virtual Result<std::size_t> write(int fd, std::string_view bytes) = 0;
  // May read less than asked; 0 at the end of the file.
  virtual Result<std::size_t> read(int fd, std::uint64_t offset, char* into, std::size_t size) = 0;
  // Reads what the file has of so many bytes, if that is in memory; nullopt when a disk might have
  // to be waited for. For the loop, which must not wait. `path` begins at the open `directory`.
  virtual std::optional<std::size_t> read_cached(int directory, const std::string& path,
                                                 std::uint64_t offset, char* into,
                                                 std::size_t size);
  virtual Result<Stat> stat(int fd) = 0;
  virtual Result<Stat> stat_path(const std::string& path) = 0;
  virtual Status truncate(int fd, std::uint64_t size) = 0;
  virtual Status sync(int fd) = 0;             // data and size, as fdatasync
  virtual Status sync_filesystem(int fd) = 0;  // everything written to the file system fd is on
  virtual Status sync_directory(const std::string& path) = 0;
  virtual Status make_directory(const std::string& path) = 0;  // 0700, conflict when it exists
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;  // a file or an empty directory
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  // The state of `inner` in everything a directory has, in no order.
  struct Inner {
    std::string name;
    Result<Stat> stat = Stat();
  };
  virtual Result<std::vector<Inner>> stat_inner(const std::string& directory,
                                                const std::string& inner);
};

class PosixFiles final : public Files {
 public:
  Result<Fd> open(const std::string& path, Open how) override;
  Result<std::size_t> write(int fd, std::string_view bytes) override;
  Result<std::size_t> read(int fd, std::uint64_t offset, char* into, std::size_t size) override;
  std::optional<std::size_t> read_cached(int directory, const std::string& path,
                                         std::uint64_t offset, char* into,
                                         std::size_t size) override;
  Result<Stat> stat(int fd) override;
  Result<Stat> stat_path(const std::string& path) override;
  Status truncate(int fd, std::uint64_t size) override;
  Status sync(int fd) override;
  Status sync_filesystem(int fd) override;
  Status sync_directory(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<std::vector<Inner>> stat_inner(const std::string& directory,
                                        const std::string& inner) override;

 private:
  static Result<Fd> open_once(const std::string& path, Open how);
};

// --- built on the above ---

// Like open, but waits a second for a lease on the file to end. Blocks the thread.
Result<Fd> open_patiently(Files& files, const std::string& path, Files::Open how);
// Retries short and interrupted writes until all is written or an error stands.
Status write_all(Files& files, int fd, std::string_view bytes);
Result<std::string> read_all(Files& files, const std::string& path);
Result<std::string> read_range(Files& files, int fd, std::uint64_t offset, std::uint64_t size);
// The folder something is in: "." for a bare name.
std::string parent_of(const std::string& path);
// Makes missing parents too; an existing directory is fine.
Status make_directories(Files& files, const std::string& path);
// Readers see the old content or the new, never a mixture: temp, sync, rename, sync directory.
Status replace_atomically(Files& files, const std::string& path, std::string_view bytes);

}  // namespace reef
