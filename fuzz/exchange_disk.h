// A disk for readers of foreign formats, made of a fuzzer's bytes: "@name\n" begins a file.
#pragma once

#include <string>
#include <string_view>

#include "support/memory_files.h"

namespace reef::fuzz {

inline void put_files(test::MemoryFiles& disk, const std::string& root, std::string_view bytes) {
  std::string name = "first";
  for (int files = 0; files < 16; ++files) {
    const auto next = bytes.find("\n@");
    disk.put(root + "/" + name, std::string(bytes.substr(0, next)));
    if (next == std::string_view::npos) return;
    bytes.remove_prefix(next + 2);
    const auto end = bytes.find('\n');
    name = bytes.substr(0, std::min<std::size_t>(end, 60));
    // A tree has no empty names, and a path no NUL.
    for (auto& c : name)
      if (c == '\0') c = '_';
    if (name.empty() || name.starts_with('/') || name.ends_with('/') ||
        name.find("//") != std::string::npos)
      name = "odd" + std::to_string(files);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
}

}  // namespace reef::fuzz
