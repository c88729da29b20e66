// Backup: the home's files, read while everything goes on.

#include "base/pool.h"
#include "exchange/archive/home_files.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

struct BackupsNeeds {
  Pool& pool;
  const std::string& home;
  static BackupsNeeds of(const Node& node) { return {node.pool, node.home}; }
};

class BackupStream final : public protocol::MessageStream {
 public:
  explicit BackupStream(BackupsNeeds needs) : needs_(needs), files_(needs.home) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    auto work = [this] { return files_.next(kDataPerMessage); };
    auto piece = co_await needs_.pool.run(work);
    protocol::ServerMessage message;
    if (!piece) {
      done_ = true;
      co_return protocol::make_error(piece.error());
    }
    auto& out = *message.mutable_file_piece();
    if (!*piece) {
      done_ = true;
      out.set_last(true);
      out.set_sessions(files_.sessions());
      out.set_files(count_);
      out.set_bytes(bytes_);
      for (const auto& problem : files_.problems()) out.add_problems(problem);
      co_return message;
    }
    auto& part = **piece;
    if (!part.path.empty()) ++count_;
    bytes_ += part.data.size();
    out.set_path(std::move(part.path));
    out.set_size(part.size);
    out.set_modified(part.modified);
    out.set_executable(part.executable);
    out.set_data(std::move(part.data));
    out.set_ends(part.ends);
    co_return message;
  }

 private:
  BackupsNeeds needs_;
  exchange::HomeFiles files_;
  std::uint64_t count_ = 0, bytes_ = 0;
  bool done_ = false;
};

protocol::Answer answer_backup(BackupsNeeds needs) {
  return std::make_unique<BackupStream>(needs);
}

}  // namespace

Operations backups_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kBackup, Right::admin, Messages::many, Naming::none, answered<answer_backup>},
  };
  return kRows;
}

}  // namespace reef::server
