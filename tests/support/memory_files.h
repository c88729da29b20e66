// A folder tree in memory, for readers of foreign formats. The interface can only read it. One
// thread.
#pragma once

#include <map>
#include <set>

#include "base/files.h"

namespace reef::test {

class MemoryFiles final : public Files {
 public:
  // Makes the folders on the way; replaces a file that is there.
  void put(const std::string& path, std::string bytes);
  // Puts something there that is not a file, like a pipe or a device.
  void put_odd(const std::string& path);
  void erase(const std::string& path);
  // Sets when the file was last changed; put() sets 2026-01-02T03:04:05Z.
  void touch(const std::string& path, std::int64_t modified_ns);
  // Limits the bytes of one read, so that every boundary is met.
  void read_at_most(std::size_t bytes) { piece_ = bytes; }

  Result<Fd> open(const std::string& path, Open how) override;
  Result<std::size_t> write(int fd, std::string_view bytes) override;
  Result<std::size_t> read(int fd, std::uint64_t offset, char* into, std::size_t size) override;
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

 private:
  struct Node {
    std::string bytes;
    std::int64_t modified_ns = 0;
    bool directory = false;
    bool regular = false;
  };
  const Node* find(std::string path) const;

  std::map<std::string, Node> nodes_;
  std::map<int, std::string> open_;  // by descriptor; closed numbers are reused
  std::size_t piece_ = SIZE_MAX;
};

}  // namespace reef::test
