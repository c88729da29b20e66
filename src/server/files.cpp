// The folders of a session: attach, list, read.

#include <fmt/format.h>

#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/attachments.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct FilesNeeds {
  session::Sessions& sessions;
  session::Attachments& attachments;
  static FilesNeeds of(const Node& node) { return {node.sessions, node.attachments}; }
};

constexpr std::size_t kFilesPerMessage = 500;

void fill(protocol::FileInfo& out, const session::FileInfo& file) {
  out.set_path(file.path);
  out.set_name(file.path.substr(file.path.rfind('/') + 1));
  out.set_type(file.type);
  out.set_bytes(file.bytes);
  out.set_modified_at(format_iso(file.modified));
}

// Answers with the upload's number first and its outcome last. When the client leaves, this is
// destroyed, and the upload with it.
class UploadStream final : public protocol::MessageStream {
 public:
  UploadStream(FilesNeeds needs, session::SessionId id, const protocol::AttachFile& request)
      : needs_(needs), id_(std::move(id)), name_(request.name()), bytes_(request.bytes()) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    protocol::ServerMessage message;
    if (!upload_) {
      auto begun = co_await needs_.attachments.begin(id_, name_, bytes_);
      if (!begun) {
        done_ = true;
        co_return protocol::make_error(begun.error());
      }
      upload_ = *std::move(begun);
      message.mutable_upload()->set_upload(upload_->number());
      co_return message;
    }
    done_ = true;
    const auto attached = co_await upload_->finished();
    if (!attached) co_return protocol::make_error(attached.error());
    auto& file = *message.mutable_attached_file();
    fill(file, attached->kept.file);
    file.set_name(attached->name);
    file.set_sha(attached->kept.sha);
    file.set_existed(!attached->kept.fresh);
    co_return message;
  }

 private:
  FilesNeeds needs_;
  session::SessionId id_;
  std::string name_;
  std::uint64_t bytes_;
  std::shared_ptr<session::Attachments::Upload> upload_;
  bool done_ = false;
};

Task<protocol::ServerMessage> attach_data(std::shared_ptr<session::Attachments::Upload> upload,
                                          std::uint64_t offset, std::string data, bool last) {
  const auto done = co_await upload->write(offset, std::move(data), last);
  if (!done) co_return protocol::make_error(done.error());
  protocol::ServerMessage message;
  message.mutable_upload()->set_upload(upload->number());
  message.mutable_upload()->set_received(upload->received());
  co_return message;
}

Task<protocol::ServerMessage> list_files(FilesNeeds needs, session::SessionId id,
                                         protocol::ListFiles request) {
  const std::size_t limit = request.limit() == 0
                                ? kFilesPerMessage
                                : std::min<std::size_t>(request.limit(), kFilesPerMessage);
  const auto page =
      co_await needs.attachments.folders().list(id, request.folder(), limit, request.cursor());
  if (!page) co_return protocol::make_error(page.error());
  protocol::ServerMessage message;
  auto& list = *message.mutable_file_list();
  list.set_cursor(page->cursor);
  bool attached = false;
  for (const auto& file : page->files) {
    fill(*list.add_files(), file);
    attached = attached || file.path.starts_with(session::kAttachmentsFolder);
  }
  if (!attached) co_return message;
  const auto names = co_await needs.attachments.names(id);
  if (!names) co_return protocol::make_error(names.error());
  for (auto& file : *list.mutable_files())
    if (const auto found = names->find(file.path()); found != names->end())
      file.set_name(found->second);
  co_return message;
}

class FileStream final : public protocol::MessageStream {
 public:
  FileStream(FilesNeeds needs, session::SessionId id, const protocol::ReadFile& request)
      : needs_(needs),
        id_(std::move(id)),
        path_(request.path()),
        at_(request.from()),
        left_(request.size() == 0 ? UINT64_MAX : request.size()) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    protocol::ServerMessage message;
    auto& out = *message.mutable_file_data();
    if (!file_) {
      auto opened = co_await needs_.attachments.folders().open(id_, path_);
      if (!opened) {
        done_ = true;
        co_return protocol::make_error(opened.error());
      }
      file_ = *std::move(opened);
      fill(*out.mutable_file(), file_->info());
    }
    const auto want = std::min<std::uint64_t>(left_, kDataPerMessage);
    auto piece = co_await file_->read(at_, want);
    if (!piece) {
      done_ = true;
      co_return protocol::make_error(piece.error());
    }
    at_ += piece->size();
    left_ -= piece->size();
    done_ = piece->size() < want || left_ == 0;
    out.set_data(*std::move(piece));
    out.set_last(done_);
    co_return message;
  }

 private:
  FilesNeeds needs_;
  session::SessionId id_;
  std::string path_;
  std::uint64_t at_;
  std::uint64_t left_;
  std::shared_ptr<session::OpenedFile> file_;
  bool done_ = false;
};

protocol::Answer answer_attach_file(FilesNeeds needs, const protocol::AttachFile& request,
                                    bool numbered) {
  // It is answered when it ends: without a request_id, its bytes would wait behind it for ever.
  if (!numbered)
    return protocol::answer_with(Error(Errc::invalid, "attach_file needs a request_id"));
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return std::make_unique<UploadStream>(needs, *std::move(id), request);
}

protocol::Answer answer_attach_data(FilesNeeds needs, protocol::AttachData& request) {
  auto upload = needs.attachments.find(request.upload());
  if (!upload)
    return protocol::answer_with(
        Error(Errc::not_found, fmt::format("no upload {}", request.upload())));
  return protocol::answer_with(attach_data(std::move(upload), request.offset(),
                                           std::move(*request.mutable_data()), request.last()));
}

protocol::Answer answer_list_files(FilesNeeds needs, const protocol::ListFiles& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(list_files(needs, *std::move(id), request));
}

protocol::Answer answer_read_file(FilesNeeds needs, const protocol::ReadFile& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return std::make_unique<FileStream>(needs, *std::move(id), request);
}

}  // namespace

Operations files_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kAttachFile, Right::answer, Messages::many, Naming::ledger,
       [](const Asked& asked) {
         return answer_attach_file(asked.needs(), asked.message.attach_file(),
                                   asked.message.has_request_id());
       }},
      {M::kAttachData, Right::answer, Messages::one, Naming::ledger,
       [](const Asked& asked) {
         return answer_attach_data(asked.needs(), *asked.message.mutable_attach_data());
       }},
      {M::kListFiles, Right::read, Messages::one, Naming::none,
       answered<&M::list_files, answer_list_files>},
      {M::kReadFile, Right::read, Messages::many, Naming::none,
       answered<&M::read_file, answer_read_file>},
  };
  return kRows;
}

}  // namespace reef::server
