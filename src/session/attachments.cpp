#include "session/attachments.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"

namespace reef::session {
namespace {

constexpr std::uint64_t kScanBytes = 4U << 20;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

Draft draft_attachment(const Attached& attached) {
  json::object data{{"path", utf8::sanitize(attached.kept.file.path)},
                    {"name", utf8::sanitize(attached.name)},
                    {"type", attached.kept.file.type},
                    {"bytes", attached.kept.file.bytes},
                    {"sha", attached.kept.sha}};
  // JSON holds only valid text, so any other name is kept beside it in hexadecimal.
  if (!utf8::valid(attached.name)) data["nameHex"] = hex(attached.name);
  return Draft{"custom", json::object{{"customType", kAttachmentType}, {"data", std::move(data)}}};
}

// Notes the name of an attachment when the line records one.
void note_name(std::string_view line, std::map<std::string, std::string>& names) {
  if (line.find(kAttachmentType) == std::string_view::npos) return;
  auto parsed = json::parse_lenient(line);
  if (!parsed || !parsed->is_object()) return;
  const auto entry = entry_from(std::move(parsed->get_object()));
  if (!entry) return;
  if (const auto path = attachment_path(*entry))
    if (const auto name = json::find_string(*json::find_object(entry->body, "data"), "name"))
      names[*path] = std::string(*name);
}

}  // namespace

std::optional<std::string> attachment_path(const Entry& entry) {
  if (entry.type != "custom" || json::find_string(entry.body, "customType") != kAttachmentType)
    return std::nullopt;
  const auto* data = json::find_object(entry.body, "data");
  const auto path = data ? json::find_string(*data, "path") : std::nullopt;
  if (!path) return std::nullopt;
  return std::string(*path);
}

Attachments::Attachments(Executor loop, Sessions& sessions, Transcripts& transcripts,
                         Folders& folders, std::function<std::uint64_t()> bytes_max)
    : loop_(std::move(loop)),
      sessions_(sessions),
      transcripts_(transcripts),
      folders_(folders),
      bytes_max_(std::move(bytes_max)) {}

std::uint64_t Attachments::bytes_max() const {
  return bytes_max_ ? bytes_max_() : kBytesMax;
}

Error Attachments::too_large(std::uint64_t bytes) const {
  return Error(
      Errc::too_large,
      fmt::format("a file of {} bytes; at most {} are taken (session.attachment_bytes_max)", bytes,
                  bytes_max()));
}

Task<Result<std::shared_ptr<Attachments::Upload>>> Attachments::begin(SessionId id,
                                                                      std::string name,
                                                                      std::uint64_t announced) {
  if (!sessions_.find(id)) co_return no_session(id);
  if (name.size() > kOriginalNameBytesMax)
    co_return Error(Errc::invalid, fmt::format("a file name of {} bytes; at most {}", name.size(),
                                               kOriginalNameBytesMax));
  if (announced > bytes_max()) co_return too_large(announced);
  std::erase_if(uploads_, [](const auto& upload) { return upload.second.expired(); });
  if (uploads_.size() >= kUploadsMax)
    co_return Error(Errc::busy, fmt::format("{} files are on their way in", uploads_.size()));
  const auto number = ++last_number_;
  REEF_CO_TRY(auto file, co_await folders_.receive());
  auto upload = std::make_shared<Upload>(*this, number, std::move(id), std::move(name),
                                         std::move(file), loop_);
  uploads_[number] = upload;
  co_return upload;
}

std::shared_ptr<Attachments::Upload> Attachments::find(std::uint64_t number) const {
  const auto found = uploads_.find(number);
  return found == uploads_.end() ? nullptr : found->second.lock();
}

Task<Result<std::map<std::string, std::string>>> Attachments::names(SessionId id) {
  std::map<std::string, std::string> names;
  std::string rest;
  for (std::uint64_t at = 0;;) {
    REEF_CO_TRY(const auto piece, co_await transcripts_.read(id, at, kScanBytes));
    at += piece.size();
    rest += piece;
    std::string_view lines = rest;
    for (auto end = lines.find('\n'); end != std::string_view::npos; end = lines.find('\n')) {
      note_name(lines.substr(0, end), names);
      lines.remove_prefix(end + 1);
    }
    rest = std::string(lines);
    if (piece.size() < kScanBytes) co_return names;
  }
}

Attachments::Upload::Upload(Attachments& all, std::uint64_t number, SessionId id, std::string name,
                            std::unique_ptr<NewFile> file, Executor loop)
    : all_(all),
      number_(number),
      id_(std::move(id)),
      name_(std::move(name)),
      file_(std::move(file)),
      loop_(loop),
      progress_(steady_now(loop)),
      changed_(std::move(loop)) {}

void Attachments::Upload::end(Result<Attached> outcome) {
  file_.reset();
  outcome_ = std::move(outcome);
  changed_.notify_all();
}

Task<Status> Attachments::Upload::write(std::uint64_t offset, std::string bytes, bool last) {
  if (outcome_) co_return Error(Errc::gone, "the upload has ended");
  if (writing_) co_return Error(Errc::busy, "the bytes before these are still being written");
  if (offset != received_)
    co_return Error(Errc::conflict,
                    fmt::format("bytes for offset {}; expected {}", offset, received_));
  if (bytes.size() > all_.bytes_max() - std::min(received_, all_.bytes_max())) {
    const auto error = all_.too_large(received_ + bytes.size());
    end(error);
    co_return error;
  }
  writing_ = true;
  const auto count = bytes.size();
  auto done = co_await shielded(file_->write(std::move(bytes)));
  if (!done) {
    writing_ = false;
    auto error = std::move(done).error().with(utf8::excerpt(name_));
    end(error);
    co_return error;
  }
  received_ += count;
  progress_ = steady_now(loop_);
  if (last) {
    auto attached = co_await shielded(keep());
    writing_ = false;
    Status outcome = Ok{};
    if (!attached) outcome = attached.error();
    end(std::move(attached));
    co_return outcome;
  }
  writing_ = false;
  changed_.notify_all();
  co_return Ok{};
}

Task<Result<Attached>> Attachments::Upload::keep() {
  // Held, so that the session does not go to the trash meanwhile.
  REEF_CO_TRY(const auto session, co_await all_.sessions_.open(id_));
  REEF_CO_TRY(auto kept, co_await file_->keep(id_, name_));
  Attached attached{std::move(kept), name_};
  const auto noted = co_await session->append(draft_attachment(attached));
  if (noted) co_return attached;
  if (attached.kept.fresh) {
    const auto removed = co_await all_.folders_.remove(id_, attached.kept.file.path);
    if (!removed) log::warn("session {}: {}", id_.text(), removed.error().what);
  }
  co_return noted.error();
}

Task<Result<Attached>> Attachments::Upload::finished() {
  while (!outcome_) {
    const auto deadline = progress_ + kSilenceMax;
    if (!writing_ && steady_now(loop_) >= deadline)
      end(Error(Errc::timeout, "nothing arrived for five minutes"));
    // A write may take longer than that: look again from time to time.
    const auto soon = steady_now(loop_) + std::chrono::seconds(1);
    if (!outcome_) static_cast<void>(co_await changed_.wait_until(std::max(deadline, soon)));
  }
  co_return *outcome_;
}

}  // namespace reef::session
