// Documents as the files of a home, where they always were. Replaced whole: a temporary file beside
// it, sync, rename, sync of the folder. Below sessions/ agents write what they like: no link is
// followed there, and what is no plain file is not there. Elsewhere a link is how the user arranged
// the home, and is read through; a change puts a file in its place. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "base/files.h"
#include "session/documents.h"

namespace reef::store {

class FsDocuments final : public session::Documents {
 public:
  // Both must outlive it and what it hands out.
  FsDocuments(Files& files, std::string home);

  // Start-up: takes away what a crash left of documents on their way in.
  void clean();

  Result<std::optional<session::Document>> read(const std::string& name,
                                                std::uint64_t bytes_max) override;
  Result<session::Version> replace(const std::string& name, std::string_view bytes,
                                   const session::Expected& expected) override;
  Status remove(const std::string& name, const session::Expected& expected) override;
  Status rename(const std::string& from, const std::string& to,
                const session::Expected& expected) override;
  Result<session::DocumentPage> list(const std::string& folder, std::size_t limit,
                                     const std::string& cursor) override;
  Result<std::shared_ptr<session::OpenDocument>> open(const std::string& name) override;
  Result<std::unique_ptr<session::NewDocument>> receive() override;
  bool unchanged(const std::string& name, const std::optional<session::Version>& seen) override;
  Result<std::unique_ptr<Watch>> watch(Executor loop, std::string what, Changed changed) override;

 private:
  friend class FsNewDocument;

  // Where a document lies, its folder held when nothing may be followed.
  struct Spot {
    Fd folder;
    std::string parent, path;
    bool strict = false;
  };
  struct Seen {
    Fd fd;
    Files::Stat stat;
  };

  std::mutex& lock_of(const std::string& name);
  Result<Fd> open_session(const std::string& id) const;
  // With `make`, so are missing folders, but for a session's own.
  Result<Spot> find(const std::string& name, bool make);
  // not_found when there is none.
  Result<Seen> open_at(const Spot& spot, const std::string& name);
  // Something has the name, whatever it is.
  static bool is_taken(const Spot& spot);
  Status check(const Spot& spot, const std::string& name, const session::Expected& expected);
  // Where what will take the place of a document is written first.
  Result<std::string> temp_for(const Spot& spot);
  // The file at `from` takes the place; it goes back when that cannot be made durable, or is gone
  // where something else had the place. `source`: where it is if it is a document already.
  Status put(const std::string& from, const Spot* source, const Spot& spot, const std::string& name,
             const session::Expected& expected);
  Status put_back(const Spot& spot, const Seen& before);
  Result<std::string> hint_of(int fd);
  // No session id: no list shows it. On the disk of the sessions, so that a rename is enough.
  std::string incoming() const { return home_ + "/sessions/.incoming"; }

  Files& files_;
  const std::string home_;
  std::atomic<std::uint64_t> last_incoming_ = 0;
  // By name: changes of one document follow each other.
  std::array<std::mutex, 16> changing_;
};

}  // namespace reef::store
