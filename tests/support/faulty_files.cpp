#include "support/faulty_files.h"

namespace reef::test {

void FaultyFiles::fail_at(int nth, int number, bool forever) {
  heal();
  number_ = number;
  forever_ = forever;
  fail_at_ = calls_ + nth;
}

void FaultyFiles::cut_write_at(int nth) {
  heal();
  cut_ = true;
  fail_at_ = calls_ + nth;
}

void FaultyFiles::heal() {
  fail_at_ = 0;
  number_ = 0;
  forever_ = false;
  cut_ = false;
  hit_ = false;
}

int FaultyFiles::next_fault() {
  const int call = ++calls_;
  const int at = fail_at_;
  if (at == 0 || cut_ || !(call == at || (forever_ && call > at))) return 0;
  hit_ = true;
  return number_;
}

Result<Fd> FaultyFiles::open(const std::string& path, Open how) {
  if (const int fault = next_fault()) return sys_error(fault, "open " + path);
  return real_.open(path, how);
}

Result<std::size_t> FaultyFiles::write(int fd, std::string_view bytes) {
  if (const int fault = next_fault()) return sys_error(fault, "write");
  if (cut_ && calls_ == fail_at_ && bytes.size() > 1) {
    hit_ = true;
    return real_.write(fd, bytes.substr(0, bytes.size() / 2));
  }
  return real_.write(fd, bytes);
}

Result<std::size_t> FaultyFiles::read(int fd, std::uint64_t offset, char* into, std::size_t size) {
  if (const int fault = next_fault()) return sys_error(fault, "read");
  return real_.read(fd, offset, into, size);
}

Result<Files::Stat> FaultyFiles::stat(int fd) {
  if (const int fault = next_fault()) return sys_error(fault, "stat");
  return real_.stat(fd);
}

Result<Files::Stat> FaultyFiles::stat_path(const std::string& path) {
  if (const int fault = next_fault()) return sys_error(fault, "stat " + path);
  return real_.stat_path(path);
}

Status FaultyFiles::truncate(int fd, std::uint64_t size) {
  if (const int fault = next_fault()) return sys_error(fault, "truncate");
  return real_.truncate(fd, size);
}

Status FaultyFiles::sync(int fd) {
  if (const int fault = next_fault()) return sys_error(fault, "sync");
  return real_.sync(fd);
}

Status FaultyFiles::sync_filesystem(int fd) {
  if (const int fault = next_fault()) return sys_error(fault, "sync the file system");
  return real_.sync_filesystem(fd);
}

Status FaultyFiles::sync_directory(const std::string& path) {
  if (const int fault = next_fault()) return sys_error(fault, "sync directory " + path);
  return real_.sync_directory(path);
}

Status FaultyFiles::make_directory(const std::string& path) {
  if (const int fault = next_fault()) return sys_error(fault, "make directory " + path);
  return real_.make_directory(path);
}

Status FaultyFiles::rename(const std::string& from, const std::string& to) {
  if (const int fault = next_fault()) return sys_error(fault, "rename " + from);
  return real_.rename(from, to);
}

Status FaultyFiles::remove(const std::string& path) {
  if (const int fault = next_fault()) return sys_error(fault, "remove " + path);
  return real_.remove(path);
}

Result<std::vector<std::string>> FaultyFiles::list(const std::string& directory) {
  if (const int fault = next_fault()) return sys_error(fault, "list " + directory);
  return real_.list(directory);
}

}  // namespace reef::test
