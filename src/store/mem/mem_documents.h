// Documents in memory, with the contract of those on disk. Any thread.
#pragma once

#include <map>
#include <mutex>

#include "session/documents.h"

namespace reef::store {

class MemDocuments final : public session::Documents {
 public:
  // Which sessions there are, by id; without it, all. Called on any thread.
  using IsSession = std::function<bool(const std::string& id)>;
  explicit MemDocuments(IsSession is_session = {}) : is_session_(std::move(is_session)) {}

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
  friend class MemNewDocument;
  friend class MemWatch;

  struct Kept {
    std::shared_ptr<const std::string> bytes;
    TimePoint modified;
  };
  struct Watcher;

  // A session that is not there has none.
  Status check_session(const std::vector<std::string>& parts) const;
  Status check_name(const std::string& name) const;
  // The lock is held for these.
  Status check(const std::string& name, const session::Expected& expected) const;
  void put(const std::string& name, std::string bytes);
  void tell(const std::string& name);

  IsSession is_session_;
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
  std::vector<std::weak_ptr<Watcher>> watchers_;
};

}  // namespace reef::store
