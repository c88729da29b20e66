// Files people give to a session: streamed in, kept once per content, and written down in the
// transcript as a `reef.attachment` entry with their name exactly as it was. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/notify.h"
#include "session/folders.h"
#include "session/session.h"

namespace reef::session {

inline constexpr std::string_view kAttachmentType = "reef.attachment";
// The path an attachment entry names; nullopt for any other entry.
std::optional<std::string> attachment_path(const Entry& entry);

struct Attached {
  NewFile::Kept kept;
  std::string name;  // as it was given
};

class Attachments {
 public:
  static constexpr std::uint64_t kBytesMax = 100'000'000;
  static constexpr std::size_t kUploadsMax = 64;
  static constexpr std::chrono::minutes kSilenceMax{5};

  // `bytes_max` returns how large a file may be; if not set, kBytesMax.
  Attachments(Executor loop, Sessions& sessions, Transcripts& transcripts, Folders& folders,
              std::function<std::uint64_t()> bytes_max = {});

  Folders& folders() { return folders_; }

  // One file on its way in, held by whoever began it. Nothing of it stays when it is released
  // early.
  class Upload {
   public:
    Upload(Attachments& all, std::uint64_t number, SessionId id, std::string name,
           std::unique_ptr<NewFile> file, Executor loop);

    std::uint64_t number() const { return number_; }
    std::uint64_t received() const { return received_; }
    // Takes the bytes that follow those received so far. An error ends the upload.
    Task<Status> write(std::uint64_t offset, std::string bytes, bool last);
    // Returns when the last bytes are kept, or when it failed, or nothing came for kSilenceMax.
    Task<Result<Attached>> finished();

   private:
    Task<Result<Attached>> keep();
    void end(Result<Attached> outcome);

    Attachments& all_;
    std::uint64_t number_;
    SessionId id_;
    std::string name_;
    std::unique_ptr<NewFile> file_;
    std::uint64_t received_ = 0;
    bool writing_ = false;
    Executor loop_;
    Moment progress_;
    std::optional<Result<Attached>> outcome_;
    Notify changed_;
  };

  // Begins a file of `announced` bytes; 0 when nobody knows. A file that is too large is refused
  // before its first byte.
  Task<Result<std::shared_ptr<Upload>>> begin(SessionId id, std::string name,
                                              std::uint64_t announced);
  // nullptr when the upload does not exist or is over.
  std::shared_ptr<Upload> find(std::uint64_t number) const;

  // Returns the names of the attachments by path; a file with several names has the last one.
  Task<Result<std::map<std::string, std::string>>> names(SessionId id);

 private:
  std::uint64_t bytes_max() const;
  Error too_large(std::uint64_t bytes) const;

  Executor loop_;
  Sessions& sessions_;
  Transcripts& transcripts_;
  Folders& folders_;
  std::function<std::uint64_t()> bytes_max_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, std::weak_ptr<Upload>> uploads_;
};

}  // namespace reef::session
