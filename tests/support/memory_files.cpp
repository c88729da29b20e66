#include "support/memory_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace reef::test {
namespace {

constexpr std::int64_t kModified = 1'767'323'045'000'000'000;

std::string trimmed(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Error read_only() {
  return sys_error(EROFS, "memory files");
}

}  // namespace

void MemoryFiles::put(const std::string& path, std::string bytes) {
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    nodes_[path.substr(0, slash)] = Node{"", kModified, true, false};
  nodes_[path] = Node{std::move(bytes), kModified, false, true};
}

void MemoryFiles::put_odd(const std::string& path) {
  put(path, "");
  nodes_[path].regular = false;
}

void MemoryFiles::erase(const std::string& path) {
  nodes_.erase(path);
}

void MemoryFiles::touch(const std::string& path, std::int64_t modified_ns) {
  nodes_.at(path).modified_ns = modified_ns;
}

const MemoryFiles::Node* MemoryFiles::find(std::string path) const {
  const auto found = nodes_.find(trimmed(std::move(path)));
  return found == nodes_.end() ? nullptr : &found->second;
}

Result<Fd> MemoryFiles::open(const std::string& path, Open how) {
  if (how == Open::append || how == Open::create) return read_only();
  if (!find(path)) return sys_error(ENOENT, "open " + path);
  Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!fd) return sys_error(errno, "open " + path);
  open_[fd.get()] = path;
  return fd;
}

Result<std::size_t> MemoryFiles::read(int fd, std::uint64_t offset, char* into, std::size_t size) {
  const auto* node = find(open_.at(fd));
  if (!node) return sys_error(EIO, "read");
  if (node->directory) return sys_error(EISDIR, "read");
  if (!node->regular) return sys_error(ESPIPE, "read");
  if (offset >= node->bytes.size()) return std::size_t{0};
  const auto count = std::min({size, piece_, node->bytes.size() - offset});
  std::memcpy(into, node->bytes.data() + offset, count);
  return count;
}

Result<Files::Stat> MemoryFiles::stat(int fd) {
  return stat_path(open_.at(fd));
}

Result<Files::Stat> MemoryFiles::stat_path(const std::string& path) {
  const auto* node = find(path);
  if (!node) return sys_error(ENOENT, "stat " + path);
  Stat out;
  out.size = node->bytes.size();
  out.modified_ns = node->modified_ns;
  out.directory = node->directory;
  out.regular = node->regular;
  return out;
}

Result<std::vector<std::string>> MemoryFiles::list(const std::string& directory) {
  const auto* node = find(directory);
  if (!node) return sys_error(ENOENT, "list " + directory);
  if (!node->directory) return sys_error(ENOTDIR, "list " + directory);
  const auto prefix = trimmed(directory) + "/";
  std::vector<std::string> names;
  for (auto at = nodes_.lower_bound(prefix); at != nodes_.end() && at->first.starts_with(prefix);
       ++at)
    if (at->first.find('/', prefix.size()) == std::string::npos)
      names.push_back(at->first.substr(prefix.size()));
  return names;
}

Result<std::size_t> MemoryFiles::write(int, std::string_view) {
  return read_only();
}
Status MemoryFiles::truncate(int, std::uint64_t) {
  return read_only();
}
Status MemoryFiles::sync(int) {
  return read_only();
}
Status MemoryFiles::sync_filesystem(int) {
  return read_only();
}
Status MemoryFiles::sync_directory(const std::string&) {
  return read_only();
}
Status MemoryFiles::make_directory(const std::string&) {
  return read_only();
}
Status MemoryFiles::rename(const std::string&, const std::string&) {
  return read_only();
}
Status MemoryFiles::remove(const std::string&) {
  return read_only();
}

}  // namespace reef::test
