// Everything a home holds beside transcripts (memories, statuses, agents, logins, attachments,
// ...): named bytes with a version. A consumer knows names and never where or how the bytes are
// kept.
//
// A name is a relative path with '/': `statuses.toml`, `memory/reef.crmem`,
// `sessions/<id>/attachments/a.pdf`. What is derived (catalog, index), of the process (config.toml,
// logs/, run/), half done or a transcript is no document, and no name leads there.
//
// All functions but unchanged() and watch() block: they are for the pool. Any thread, several at
// once; changes of one document are made one after the other. A document is seen whole, before or
// after a change, never in between.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"

namespace reef::session {

// Which bytes somebody has seen. Two versions are equal when their bytes are: a change that was
// taken back is none.
class Version {
 public:
  // `hint` is the implementation's: by it, it may know the same bytes again without reading them.
  static Version of(std::string_view bytes, std::string hint = {});

  bool operator==(const Version& other) const {
    return bytes_ == other.bytes_ && digest_ == other.digest_;
  }
  std::uint64_t bytes() const { return bytes_; }
  const std::string& hint() const { return hint_; }

 private:
  std::uint64_t bytes_ = 0;
  std::string digest_, hint_;
};

// What must be there for a change to be made; conflict when it is something else.
struct Whatever {};  // or nothing
struct Nothing {};
using Expected = std::variant<Whatever, Nothing, Version>;
// Nothing, where nothing was seen.
Expected expect(const std::optional<Version>& seen);

struct Document {
  std::string bytes;
  Version version;
};

struct DocumentInfo {
  std::string name;
  std::uint64_t bytes = 0;
  TimePoint modified = {};
  bool ours = true;  // the user of this process, or root, wrote it; false: another user
};

struct DocumentPage {
  std::vector<DocumentInfo> documents;  // by name
  std::string cursor;                   // empty: there are no more
};

// A document being read in pieces: its bytes as they were when it was opened, as long as nobody
// writes into the file of it.
class OpenDocument {
 public:
  virtual ~OpenDocument() = default;
  virtual const DocumentInfo& info() const = 0;
  // Fewer bytes than asked for only at the end.
  virtual Result<std::string> read(std::uint64_t from, std::uint64_t size) = 0;
};

// A document being written in pieces; gone when destroyed before it was kept. One thread at a time.
class NewDocument {
 public:
  virtual ~NewDocument() = default;
  virtual Status write(std::string_view bytes) = 0;
  virtual std::uint64_t bytes() const = 0;
  // Reads back what was written so far.
  virtual Result<std::string> read(std::uint64_t from, std::uint64_t size) = 0;
  // Durable under the name. Once; after a conflict it may be tried again, with another name.
  virtual Result<DocumentInfo> keep(const std::string& name, const Expected& expected) = 0;
};

class Documents {
 public:
  virtual ~Documents() = default;

  // nullopt when there is none. too_large, before anything is read, when it has more bytes.
  virtual Result<std::optional<Document>> read(const std::string& name,
                                               std::uint64_t bytes_max) = 0;
  // Durable when it returns. On an error what was there is there, but for a disk that refuses even
  // to put it back; the error says so then. not_found: of a session that is not there.
  virtual Result<Version> replace(const std::string& name, std::string_view bytes,
                                  const Expected& expected) = 0;
  // not_found when there is none. After another error it may be gone all the same.
  virtual Status remove(const std::string& name, const Expected& expected) = 0;
  // Durable when it returns; `expected` at the new name. not_found when there is none.
  virtual Status rename(const std::string& from, const std::string& to,
                        const Expected& expected) = 0;
  // Lists what is below a folder: `agents/`, `sessions/<id>/`. Additions meanwhile neither repeat
  // nor hide another one. Links, pipes and devices are not there. not_found: no such session.
  virtual Result<DocumentPage> list(const std::string& folder, std::size_t limit,
                                    const std::string& cursor) = 0;

  // not_found when there is none.
  virtual Result<std::shared_ptr<OpenDocument>> open(const std::string& name) = 0;
  virtual Result<std::unique_ptr<NewDocument>> receive() = 0;

  // Whether `seen` (nullopt: none) is still what is there. Cheap, on the loop too; false when that
  // cannot be said without reading.
  virtual bool unchanged(const std::string& name, const std::optional<Version>& seen) = 0;

  // Ends what was begun when destroyed, on the loop.
  class Watch {
   public:
    virtual ~Watch() = default;
  };
  // Calls back on the loop after a document was changed, by whomever: with its name, or with
  // `what` where it cannot be said which. May be called once too often. `what` is a document's name
  // or, with a slash at the end, a folder. Loop thread.
  using Changed = std::function<void(const std::string& name)>;
  virtual Result<std::unique_ptr<Watch>> watch(Executor loop, std::string what,
                                               Changed changed) = 0;
};

// The parts of a document's name; invalid when nothing can have that name.
Result<std::vector<std::string>> split_document_name(std::string_view name);
// The same for a folder, with its slash at the end: one that is below the home, and of sessions one
// session's.
Result<std::vector<std::string>> split_document_folder(std::string_view folder);
// Which session the parts of a name belong to; empty: none.
std::string session_of(const std::vector<std::string>& parts);

// How deep folders lie in each other where documents are looked for.
inline constexpr std::size_t kDocumentDepthMax = 20;

// --- built on the above ---

Result<bool> is_there(Documents& documents, const std::string& name);
// All names below a folder; too_large when there are more.
Result<std::vector<std::string>> names_in(Documents& documents, const std::string& folder,
                                          std::size_t count_max);
Error no_document(std::string_view name);
// Returns the name that people know: for a document of a session, the path inside of it.
std::string shown_name(std::string_view name);

}  // namespace reef::session
