// Where the files of a session under way go. Those of a session that is here already are documents
// of it; those that come with a new session lie in its folder, which the store takes in whole. A
// worker's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "exchange/import_job.h"

namespace reef::exchange {

class StagedFiles {
 public:
  // `known`: the session is here already. Else its files go below `folder`.
  StagedFiles(ImportJob& job, const session::SessionId& id, bool known, std::string folder)
      : job_(job), files_(job.needs().files), id_(id), known_(known), folder_(std::move(folder)) {}

  // Return the path in the session's folders: of a new file, or of one that has the same bytes.
  Result<std::string> put(std::string_view folder, std::string_view name, std::string_view bytes);
  Result<std::string> copy(std::string_view folder, std::string_view name, int source,
                           std::uint64_t size);

 private:
  struct Spot {
    std::string path;    // relative to the session's folder
    bool there = false;  // with the same bytes
  };
  // What has a path already.
  struct There {
    bool taken = false, regular = false;
    std::uint64_t bytes = 0;
    std::function<Result<std::string>(std::uint64_t from, std::uint64_t size)> read = {};
  };
  Result<There> look(const std::string& path);
  Result<Spot> spot_for(std::string_view folder, std::string_view name,
                        const std::function<Result<bool>(const There&)>& same);
  // A document's name, or a path in the folder of a session that is new.
  std::string place_of(const std::string& path) const;
  Status copy_pieces(int source, std::uint64_t size, const std::string& place);

  ImportJob& job_;
  Files& files_;
  const session::SessionId& id_;
  const bool known_;
  const std::string folder_;
};

// Makes a folder; one that is there is fine.
Status make_folder(Files& files, const std::string& path);

}  // namespace reef::exchange
