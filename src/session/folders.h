// The folders of a session beside its transcript: attachments, data, downloads, long_responses,
// plans. Paths are FOLDER/NAME, or deeper, and cannot lead out of them; links, pipes and devices
// are not seen. Called on the loop thread; results come back there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "session/file_names.h"
#include "session/ids.h"

namespace reef::session {

struct FileInfo {
  std::string path;  // attachments/report.pdf
  std::string type;
  std::uint64_t bytes = 0;
  TimePoint modified;
};

struct FilePage {
  std::vector<FileInfo> files;  // by path
  std::string cursor;           // empty: there are no more
};

class OpenedFile {
 public:
  virtual ~OpenedFile() = default;
  virtual const FileInfo& info() const = 0;
  // Returns fewer bytes than asked for only at the end.
  virtual Task<Result<std::string>> read(std::uint64_t from, std::uint64_t size) = 0;
};

// A file on its way in; removed when this is destroyed before keep().
class NewFile {
 public:
  struct Kept {
    FileInfo file;
    std::string sha;     // SHA-256, hexadecimal
    bool fresh = false;  // no file with the same bytes was there before
  };
  virtual ~NewFile() = default;
  virtual Task<Status> write(std::string bytes) = 0;
  // Makes it durable in the session's attachments, under a name made from `name`. Call it once.
  virtual Task<Result<Kept>> keep(SessionId id, std::string name) = 0;
};

class Folders {
 public:
  virtual ~Folders() = default;

  // An empty `folder` lists all. Files added meanwhile neither repeat nor hide one.
  virtual Task<Result<FilePage>> list(SessionId id, std::string folder, std::size_t limit,
                                      std::string cursor) = 0;
  virtual Task<Result<std::shared_ptr<OpenedFile>>> open(SessionId id, std::string path) = 0;
  virtual Task<Result<std::unique_ptr<NewFile>>> receive() = 0;
  virtual Task<Status> remove(SessionId id, std::string path) = 0;
  // Makes durable copies in another session; missing files are left out.
  virtual Task<Status> copy(SessionId from, SessionId to, std::vector<std::string> paths) = 0;
};

}  // namespace reef::session
