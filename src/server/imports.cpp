// Import: reads other programs' sessions where they lie.

#include <fmt/format.h>

#include "base/pool.h"
#include "base/utf8.h"
#include "exchange/import.h"
#include "exchange/places.h"
#include "runtime/tasks.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

struct ImportsNeeds {
  exchange::Importer& imports;
  runtime::Tasks& tasks;
  Pool& pool;
  const std::function<Task<Status>()>& reload;
  static ImportsNeeds of(const Node& node) {
    return {node.imports, node.tasks, node.pool, node.reload};
  }
};

constexpr std::chrono::milliseconds kProgressStep{100};
constexpr std::size_t kProblemsPerMessage = 500;

void fill(protocol::ImportCounts& out, const exchange::ImportCounts& counts) {
  out.set_sessions(counts.sessions);
  out.set_added(counts.added);
  out.set_continued(counts.continued);
  out.set_unchanged(counts.unchanged);
  out.set_entries(counts.entries);
  out.set_bytes(counts.bytes);
  out.set_definitions(counts.definitions);
  out.set_redacted(counts.redacted);
}

void move_piece(std::vector<exchange::Problem>& from,
                google::protobuf::RepeatedPtrField<protocol::ImportProblem>& to) {
  const auto count = std::min(from.size(), kProblemsPerMessage);
  for (std::size_t i = 0; i < count; ++i) {
    auto& out = *to.Add();
    out.set_path(from[i].path);
    out.set_line(from[i].line);
    out.set_why(from[i].why);
  }
  from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
}

// Tells the progress now and then, and the outcome at the end. The import ends when its reader
// leaves.
class ImportStream final : public protocol::MessageStream {
 public:
  ImportStream(ImportsNeeds needs, exchange::Import import, std::string what)
      : needs_(needs), import_(std::move(import)) {
    runtime::TaskInfo info{"import", std::move(what)};
    task_ =
        needs.tasks.begin(std::move(info), [given_up = import_]() mutable { given_up.cancel(); });
  }
  ~ImportStream() override { import_.cancel(); }

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (told_) co_return std::nullopt;
    if (problems_.empty() && refused_.empty()) {
      co_await import_.wait(kProgressStep);
      problems_ = import_.take_problems();
      refused_ = import_.take_refused();
    }
    protocol::ServerMessage message;
    auto& event = *message.mutable_import_event();
    // In pieces, because there may be thousands.
    move_piece(problems_, *event.mutable_problems());
    move_piece(refused_, *event.mutable_refused());
    fill(*event.mutable_counts(), import_.counts());
    event.set_bytes_total(import_.bytes_total());
    tell_task();
    if (!import_.done() || !problems_.empty() || !refused_.empty()) co_return message;

    told_ = true;
    const auto& outcome = import_.outcome();
    if (import_.agents_came()) {
      const auto reloaded = co_await needs_.reload();
      if (!reloaded) {
        auto& out = *event.add_problems();
        out.set_path("agents");
        out.set_why("the configuration could not be read again: " +
                    utf8::sanitize(reloaded.error().what));
      }
    }
    if (!outcome && outcome.error().code != Errc::cancelled)
      co_return protocol::make_error(outcome.error());
    event.set_last(true);
    event.set_cancelled(!outcome);
    event.set_problems_left_out(import_.problems_left_out());
    for (const auto& directory : import_.directories()) {
      auto& out = *event.add_directories();
      out.set_path(directory.path);
      out.set_sessions(directory.sessions);
    }
    co_return message;
  }

 private:
  void tell_task() {
    using State = runtime::TaskInfo::State;
    if (import_.done()) {
      const auto& outcome = import_.outcome();
      task_->end(outcome                                   ? State::done
                 : outcome.error().code == Errc::cancelled ? State::cancelled
                                                           : State::failed);
      return;
    }
    const auto counts = import_.counts();
    const auto total = import_.bytes_total();
    const auto share = static_cast<double>(counts.bytes) / static_cast<double>(total);
    task_->update(total > 0 ? std::min(share, 1.0) : -1,
                  fmt::format("{} sessions read, {} added", counts.sessions, counts.added));
  }

  ImportsNeeds needs_;
  exchange::Import import_;
  std::unique_ptr<runtime::Tasks::Entry> task_;
  std::vector<exchange::Problem> problems_;
  std::vector<exchange::Problem> refused_;
  bool told_ = false;
};

Task<protocol::ServerMessage> find_imports(ImportsNeeds needs,
                                           std::map<std::string, std::string> environment) {
  auto work = [&] {
    PosixFiles files;
    return exchange::find_places(files, environment);
  };
  const auto places = co_await needs.pool.run(work);
  protocol::ServerMessage message;
  auto& out = *message.mutable_import_places();
  for (const auto& place : places) {
    auto& one = *out.add_places();
    one.set_kind(std::string(place.source->name));
    one.set_path(place.path);
    one.set_bytes(place.bytes);
  }
  co_return message;
}

protocol::Answer answer_import(ImportsNeeds needs, const protocol::ImportSessions& request) {
  const auto source = exchange::find_source(request.kind());
  if (!source) return protocol::answer_with(source.error());
  exchange::ImportRequest wanted{**source, request.path(), request.redact(), request.dry_run(),
                                 request.keys()};
  auto import = needs.imports.start(std::move(wanted));
  if (!import) return protocol::answer_with(import.error());
  return std::make_unique<ImportStream>(
      needs, *std::move(import),
      fmt::format("imports {} from {}", request.kind(), utf8::excerpt(request.path(), 200)));
}

protocol::Answer answer_find_imports(ImportsNeeds needs, const protocol::FindImports& request) {
  std::map<std::string, std::string> environment(request.environment().begin(),
                                                 request.environment().end());
  return protocol::answer_with(find_imports(needs, std::move(environment)));
}

protocol::Answer answer_cancel_import(ImportsNeeds needs) {
  needs.imports.cancel();
  return protocol::answer_with(protocol::make_pong());
}

}  // namespace

Operations imports_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kImportSessions, Right::admin, Messages::many, Naming::ledger,
       answered<&M::import_sessions, answer_import>},
      {M::kFindImports, Right::admin, Messages::one, Naming::none,
       answered<&M::find_imports, answer_find_imports>},
      {M::kCancelImport, Right::admin, Messages::one, Naming::ledger,
       answered<answer_cancel_import>},
  };
  return kRows;
}

}  // namespace reef::server
