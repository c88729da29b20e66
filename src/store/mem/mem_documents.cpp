#include "store/mem/mem_documents.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::store {
namespace {

class MemOpenDocument final : public session::OpenDocument {
 public:
  MemOpenDocument(session::DocumentInfo info, std::shared_ptr<const std::string> bytes)
      : info_(std::move(info)), bytes_(std::move(bytes)) {}
  const session::DocumentInfo& info() const override { return info_; }
  Result<std::string> read(std::uint64_t from, std::uint64_t size) override {
    if (from >= bytes_->size()) return std::string();
    return bytes_->substr(from, size);
  }

 private:
  session::DocumentInfo info_;
  std::shared_ptr<const std::string> bytes_;
};

}  // namespace

class MemNewDocument final : public session::NewDocument {
 public:
  explicit MemNewDocument(MemDocuments& all) : all_(all) {}
  Status write(std::string_view bytes) override {
    bytes_ += bytes;
    return Ok{};
  }
  std::uint64_t bytes() const override { return bytes_.size(); }
  Result<std::string> read(std::uint64_t from, std::uint64_t size) override {
    if (from >= bytes_.size()) return std::string();
    return bytes_.substr(from, size);
  }
  Result<session::DocumentInfo> keep(const std::string& name,
                                     const session::Expected& expected) override {
    const auto done = all_.replace(name, bytes_, expected);
    if (!done) return done.error();
    return session::DocumentInfo{name, bytes_.size(), SystemClock().now()};
  }

 private:
  MemDocuments& all_;
  std::string bytes_;
};

// Its fields never change; `changed` is called on the loop, and only while somebody has the watch.
struct MemDocuments::Watcher {
  Executor loop;
  std::string what;
  Changed changed;
};

class MemWatch final : public session::Documents::Watch {
 public:
  explicit MemWatch(std::shared_ptr<MemDocuments::Watcher> watcher)
      : watcher_(std::move(watcher)) {}

 private:
  std::shared_ptr<MemDocuments::Watcher> watcher_;
};

Status MemDocuments::check_session(const std::vector<std::string>& parts) const {
  const auto id = session::session_of(parts);
  if (id.empty() || !is_session_ || is_session_(id)) return Ok{};
  return Error(Errc::not_found, fmt::format("no session '{}'", id));
}

Status MemDocuments::check_name(const std::string& name) const {
  REEF_TRY(const auto parts, session::split_document_name(name));
  return check_session(parts);
}

Status MemDocuments::check(const std::string& name, const session::Expected& expected) const {
  if (std::holds_alternative<session::Whatever>(expected)) return Ok{};
  const auto found = kept_.find(name);
  if (std::holds_alternative<session::Nothing>(expected)) {
    if (found == kept_.end()) return Ok{};
    return Error(Errc::conflict, fmt::format("{} is there already", utf8::excerpt(name)));
  }
  if (found != kept_.end() &&
      session::Version::of(*found->second.bytes) == std::get<session::Version>(expected))
    return Ok{};
  return Error(Errc::conflict, fmt::format("{} was changed meanwhile", utf8::excerpt(name)));
}

void MemDocuments::put(const std::string& name, std::string bytes) {
  kept_[name] = Kept{std::make_shared<const std::string>(std::move(bytes)), SystemClock().now()};
  tell(name);
}

void MemDocuments::tell(const std::string& name) {
  std::erase_if(watchers_, [](const auto& one) { return one.expired(); });
  for (const auto& one : watchers_) {
    const auto watcher = one.lock();
    if (!watcher) continue;
    if (watcher->what.ends_with('/') ? !name.starts_with(watcher->what) : name != watcher->what)
      continue;
    boost::asio::post(watcher->loop, [one, name] {
      if (const auto still = one.lock()) still->changed(name);
    });
  }
}

Result<std::optional<session::Document>> MemDocuments::read(const std::string& name,
                                                            std::uint64_t bytes_max) {
  const auto good = check_name(name);
  if (!good && good.error().code == Errc::not_found) return std::optional<session::Document>();
  if (!good) return good.error();
  std::shared_ptr<const std::string> bytes;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(name);
    if (found == kept_.end()) return std::optional<session::Document>();
    bytes = found->second.bytes;
  }
  if (bytes->size() > bytes_max)
    return Error(Errc::too_large, fmt::format("{}: {} bytes are more than the {} it may have",
                                              utf8::excerpt(name), bytes->size(), bytes_max));
  return std::optional(session::Document{*bytes, session::Version::of(*bytes)});
}

Result<session::Version> MemDocuments::replace(const std::string& name, std::string_view bytes,
                                               const session::Expected& expected) {
  REEF_CHECK(check_name(name));
  const std::lock_guard lock(mutex_);
  REEF_CHECK(check(name, expected));
  put(name, std::string(bytes));
  return session::Version::of(bytes);
}

Status MemDocuments::remove(const std::string& name, const session::Expected& expected) {
  REEF_CHECK(check_name(name));
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end()) return session::no_document(name);
  REEF_CHECK(check(name, expected));
  kept_.erase(found);
  tell(name);
  return Ok{};
}

Status MemDocuments::rename(const std::string& from, const std::string& to,
                            const session::Expected& expected) {
  REEF_CHECK(check_name(from));
  REEF_CHECK(check_name(to));
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(from);
  if (found == kept_.end()) return session::no_document(from);
  REEF_CHECK(check(to, expected));
  if (from == to) return Ok{};
  kept_[to] = std::move(found->second);
  kept_.erase(found);
  tell(from);
  tell(to);
  return Ok{};
}

Result<session::DocumentPage> MemDocuments::list(const std::string& folder, std::size_t limit,
                                                 const std::string& cursor) {
  REEF_TRY(const auto parts, session::split_document_folder(folder));
  REEF_CHECK(check_session(parts));
  const std::lock_guard lock(mutex_);
  session::DocumentPage page;
  for (auto it = kept_.upper_bound(std::max(folder, cursor));
       it != kept_.end() && it->first.starts_with(folder); ++it) {
    if (page.documents.size() == limit) {
      if (limit > 0) page.cursor = page.documents.back().name;
      break;
    }
    page.documents.push_back({it->first, it->second.bytes->size(), it->second.modified, true});
  }
  return page;
}

Result<std::shared_ptr<session::OpenDocument>> MemDocuments::open(const std::string& name) {
  REEF_CHECK(check_name(name));
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end()) return session::no_document(name);
  session::DocumentInfo info{name, found->second.bytes->size(), found->second.modified};
  return std::shared_ptr<session::OpenDocument>(
      std::make_shared<MemOpenDocument>(std::move(info), found->second.bytes));
}

Result<std::unique_ptr<session::NewDocument>> MemDocuments::receive() {
  return std::unique_ptr<session::NewDocument>(std::make_unique<MemNewDocument>(*this));
}

bool MemDocuments::unchanged(const std::string& name, const std::optional<session::Version>& seen) {
  const auto good = check_name(name);
  if (!good) return good.error().code == Errc::not_found && !seen;
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end() || !seen) return found == kept_.end() && !seen;
  return session::Version::of(*found->second.bytes) == *seen;
}

Result<std::unique_ptr<session::Documents::Watch>> MemDocuments::watch(Executor loop,
                                                                       std::string what,
                                                                       Changed changed) {
  if (what.ends_with('/')) {
    REEF_CHECK(session::split_document_folder(what));
  } else {
    REEF_CHECK(session::split_document_name(what));
  }
  auto watcher =
      std::make_shared<Watcher>(Watcher{std::move(loop), std::move(what), std::move(changed)});
  const std::lock_guard lock(mutex_);
  watchers_.push_back(watcher);
  return std::unique_ptr<Watch>(std::make_unique<MemWatch>(std::move(watcher)));
}

}  // namespace reef::store
