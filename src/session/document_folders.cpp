#include "session/document_folders.h"

#include <set>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/utf8.h"

namespace reef::session {
namespace {

constexpr std::uint64_t kCopyBytes = 1U << 20;
constexpr unsigned kNamesMax = 100'000;

std::string folder_of(const SessionId& id) {
  return fmt::format("sessions/{}/", id.text());
}

// Returns the name of the document that a file in a session's folders is.
Result<std::string> document_of(const SessionId& id, const std::string& path) {
  REEF_CHECK(split_file_path(path));
  return folder_of(id) + path;
}

FileInfo describe(const DocumentInfo& info, const std::string& path, std::string_view head) {
  return FileInfo{path, file_type(path.substr(path.rfind('/') + 1), head), info.bytes,
                  info.modified};
}

struct Described {
  std::shared_ptr<OpenDocument> document;
  FileInfo info;
};
Result<Described> open_described(Documents& documents, const SessionId& id,
                                 const std::string& path) {
  REEF_TRY(const auto name, document_of(id, path));
  REEF_TRY(auto document, documents.open(name));
  REEF_TRY(const auto head, document->read(0, kTypeBytes));
  auto info = describe(document->info(), path, head);
  return Described{std::move(document), std::move(info)};
}

Result<bool> has_same_bytes(NewDocument& one, OpenDocument& other) {
  if (one.bytes() != other.info().bytes) return false;
  for (std::uint64_t at = 0; at < one.bytes(); at += kCopyBytes) {
    REEF_TRY(const auto mine, one.read(at, kCopyBytes));
    REEF_TRY(const auto theirs, other.read(at, kCopyBytes));
    if (mine != theirs) return false;
  }
  return true;
}

class DocumentFile final : public OpenedFile {
 public:
  DocumentFile(Pool& pool, Described file) : pool_(pool), file_(std::move(file)) {}
  const FileInfo& info() const override { return file_.info; }
  Task<Result<std::string>> read(std::uint64_t from, std::uint64_t size) override {
    auto work = [&] { return file_.document->read(from, size); };
    co_return co_await pool_.run(work);
  }

 private:
  Pool& pool_;
  Described file_;
};

}  // namespace

class ReceivedFile final : public NewFile {
 public:
  ReceivedFile(DocumentFolders& folders, std::unique_ptr<NewDocument> document)
      : folders_(folders), document_(std::move(document)), hash_(::EVP_MD_CTX_new()) {
    ::EVP_DigestInit_ex(hash_.get(), ::EVP_sha256(), nullptr);
  }

  Task<Status> write(std::string bytes) override {
    auto work = [&]() -> Status {
      REEF_CHECK(document_->write(bytes));
      if (head_.size() < kTypeBytes) head_.append(bytes, 0, kTypeBytes - head_.size());
      ::EVP_DigestUpdate(hash_.get(), bytes.data(), bytes.size());
      return Ok{};
    };
    co_return co_await folders_.pool_.run(work);
  }

  Task<Result<Kept>> keep(SessionId id, std::string name) override {
    auto work = [&] { return keep_blocking(id, name); };
    co_return co_await folders_.pool_.run(work);
  }

 private:
  struct FreeHash {
    void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
  };

  std::string digest() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned count = 0;
    ::EVP_DigestFinal_ex(hash_.get(), bytes, &count);
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

  // Returns the paths there are; `twin` becomes the path of one with the same bytes.
  Result<std::set<std::string>> look(const SessionId& id, std::string* twin) {
    std::set<std::string> taken;
    const auto session = folder_of(id);
    const auto folder = fmt::format("{}{}/", session, kAttachmentsFolder);
    for (std::string cursor;;) {
      REEF_TRY(auto page, folders_.documents_.list(folder, 1000, cursor));
      for (auto& one : page.documents) {
        if (twin && twin->empty() && one.bytes == document_->bytes()) {
          const auto other = folders_.documents_.open(one.name);
          const auto same = other ? has_same_bytes(*document_, **other) : Result<bool>(false);
          if (same && *same) *twin = one.name.substr(session.size());
        }
        taken.insert(std::move(one.name));
      }
      if (page.cursor.empty()) return taken;
      cursor = std::move(page.cursor);
    }
  }

  Result<FileInfo> take_name(const SessionId& id, const std::string& original,
                             std::set<std::string> taken) {
    const auto wanted = file_name_from(original);
    for (unsigned n = 1; n < kNamesMax; ++n) {
      const auto path = fmt::format("{}/{}", kAttachmentsFolder, numbered_file_name(wanted, n));
      const auto name = folder_of(id) + path;
      if (taken.contains(name)) continue;
      auto kept = document_->keep(name, Nothing{});
      if (kept) return describe(*kept, path, head_);
      if (kept.error().code != Errc::conflict) return std::move(kept).error();
      // Somebody else was faster; or what is there is no file at all, and then the next one is
      // tried as well, as long as the folder itself can be written to.
      REEF_TRY(taken, look(id, nullptr));
      if (!taken.contains(name) && ++odd_ > kOddMax) return std::move(kept).error();
    }
    return Error(Errc::conflict, fmt::format("no free name like '{}'", utf8::excerpt(wanted)));
  }

  Result<Kept> keep_blocking(const SessionId& id, const std::string& name) {
    const std::lock_guard lock(folders_.keeping_);
    std::string path;
    REEF_TRY(auto taken, look(id, &path));
    Kept kept;
    kept.sha = digest();
    if (path.empty()) {
      REEF_TRY(kept.file, take_name(id, name, std::move(taken)));
      kept.fresh = true;
    } else {
      REEF_TRY(auto there, open_described(folders_.documents_, id, path));
      kept.file = std::move(there.info);
    }
    return kept;
  }

  // Names that are taken by what no list shows: links, pipes, folders.
  static constexpr unsigned kOddMax = 100;

  DocumentFolders& folders_;
  std::unique_ptr<NewDocument> document_;
  std::unique_ptr<EVP_MD_CTX, FreeHash> hash_;
  std::string head_;  // what the type is known by
  unsigned odd_ = 0;
};

Task<Result<FilePage>> DocumentFolders::list(SessionId id, std::string folder, std::size_t limit,
                                             std::string cursor) {
  auto work = [&]() -> Result<FilePage> {
    if (!folder.empty()) REEF_CHECK(check_folder(folder));
    const auto session = folder_of(id);
    const auto after = session + cursor;
    FilePage page;
    std::vector<DocumentInfo> found;
    for (const auto name : session_folders()) {
      const auto below = fmt::format("{}{}/", session, name);
      if ((!folder.empty() && name != folder) || (after > below && !after.starts_with(below)))
        continue;
      // One more than wanted, to know whether there is one.
      REEF_TRY(auto some, documents_.list(below, limit + 1 - found.size(), after));
      for (auto& one : some.documents) found.push_back(std::move(one));
      if (found.size() > limit) {
        found.pop_back();
        if (!found.empty()) page.cursor = found.back().name.substr(session.size());
        break;
      }
    }
    for (const auto& one : found)
      if (auto there = open_described(documents_, id, one.name.substr(session.size())))
        page.files.push_back(std::move(there->info));
    return page;
  };
  co_return co_await pool_.run(work);
}

Task<Result<std::shared_ptr<OpenedFile>>> DocumentFolders::open(SessionId id, std::string path) {
  auto work = [&]() -> Result<std::shared_ptr<OpenedFile>> {
    REEF_TRY(auto there, open_described(documents_, id, path));
    return std::shared_ptr<OpenedFile>(std::make_shared<DocumentFile>(pool_, std::move(there)));
  };
  co_return co_await pool_.run(work);
}

Task<Result<std::unique_ptr<NewFile>>> DocumentFolders::receive() {
  auto work = [&]() -> Result<std::unique_ptr<NewFile>> {
    REEF_TRY(auto document, documents_.receive());
    return std::unique_ptr<NewFile>(std::make_unique<ReceivedFile>(*this, std::move(document)));
  };
  co_return co_await pool_.run(work);
}

Task<Status> DocumentFolders::remove(SessionId id, std::string path) {
  auto work = [&]() -> Status {
    REEF_TRY(const auto name, document_of(id, path));
    return documents_.remove(name, Whatever{});
  };
  co_return co_await pool_.run(work);
}

Task<Status> DocumentFolders::copy(SessionId from, SessionId to, std::vector<std::string> paths) {
  auto copy_one = [&](const std::string& path) -> Status {
    REEF_TRY(const auto old_name, document_of(from, path));
    REEF_TRY(const auto new_name, document_of(to, path));
    auto source = documents_.open(old_name);
    if (!source && source.error().code == Errc::not_found) return Ok{};
    if (!source) return std::move(source).error();
    REEF_TRY(const auto target, documents_.receive());
    for (std::uint64_t at = 0;;) {
      REEF_TRY(const auto piece, (*source)->read(at, kCopyBytes));
      REEF_CHECK(target->write(piece));
      at += piece.size();
      if (piece.size() < kCopyBytes) break;
    }
    const auto kept = target->keep(new_name, Nothing{});
    if (!kept) return kept.error();
    return Ok{};
  };
  auto work = [&]() -> Status {
    for (const auto& path : paths) REEF_CHECK(copy_one(path));
    return Ok{};
  };
  co_return co_await pool_.run(work);
}

}  // namespace reef::session
