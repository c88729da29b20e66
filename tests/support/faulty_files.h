// A disk that fails when told to: the n-th system call from now returns an error, or is cut short.
#pragma once

#include <atomic>

#include "base/files.h"

namespace reef::test {

class FaultyFiles final : public Files {
 public:
  enum class Fault { error, short_write };

  // The call `nth` (from 1) fails with the errno `number`; with `forever` all later ones do too.
  void fail_at(int nth, int number, bool forever = false);
  void cut_write_at(int nth);
  void heal();
  int calls() const { return calls_; }
  // True when a call met the fault.
  bool hit() const { return hit_; }

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
  // The errno this call must fail with; 0 when it may succeed.
  int next_fault();

  PosixFiles real_;
  std::atomic<int> calls_ = 0;
  std::atomic<int> fail_at_ = 0;
  std::atomic<int> number_ = 0;
  std::atomic<bool> forever_ = false;
  std::atomic<bool> cut_ = false;
  std::atomic<bool> hit_ = false;
};

}  // namespace reef::test
