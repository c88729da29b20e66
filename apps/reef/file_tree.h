// Writes files below one folder and nowhere else, whatever their paths say: every step of a path is
// opened in the folder before it, and links are not followed. Each file appears whole or not at
// all.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace reef::cli {

class FileTree {
 public:
  enum class Existing : std::uint8_t { refuse, replace };

  // Creates the folder when it is missing.
  static Result<FileTree> open(const std::string& root, Existing existing);
  FileTree(FileTree&&) = default;
  FileTree& operator=(FileTree&&) = delete;
  ~FileTree();

  // Takes one file at a time and creates its folders. Files are 0600, folders 0700.
  Status begin(const std::string& path);
  Status write(std::string_view bytes);
  Status end();

 private:
  FileTree(std::string root, Fd folder, Existing existing);

  Error wrong(int number, std::string_view what) const;

  PosixFiles files_;
  std::string root_;
  Fd folder_;
  Existing existing_;
  // The file being written.
  std::string path_, name_;
  Fd parent_, file_;
};

}  // namespace reef::cli
