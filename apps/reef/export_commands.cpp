// export: writes sessions as files of another format.

#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "commands.h"
#include "exchange/sources.h"
#include "file_tree.h"

namespace reef::cli {
namespace {

// Receives the files that the daemon sends.
class Target {
 public:
  virtual ~Target() = default;
  virtual Status begin(const std::string& path) = 0;
  virtual Status write(std::string_view bytes) = 0;
  virtual Status end() = 0;
  // The files that did not fit.
  struct LeftOut {
    std::uint64_t files = 0, bytes = 0;
  };
  virtual LeftOut left_out() const { return {}; }
};

class FolderTarget final : public Target {
 public:
  // `first` replaces the name of the first file; when empty, the file keeps its own.
  FolderTarget(FileTree tree, std::string first)
      : tree_(std::move(tree)), first_(std::move(first)) {}
  Status begin(const std::string& path) override {
    return tree_.begin(first_.empty() ? path : std::exchange(first_, {}));
  }
  Status write(std::string_view bytes) override { return tree_.write(bytes); }
  Status end() override { return tree_.end(); }

 private:
  FileTree tree_;
  std::string first_;
};

class StdoutTarget final : public Target {
 public:
  Status begin(const std::string&) override { return Ok{}; }
  Status write(std::string_view bytes) override {
    return output_.write(bytes) ? Status(Ok{}) : failed();
  }
  Status end() override { return output_.end() ? Status(Ok{}) : failed(); }

 private:
  static Error failed() { return Error(Errc::io, "could not write to standard output"); }

  Output output_;
};

// Takes one file where only one fits; the others are counted.
class FirstFileTarget final : public Target {
 public:
  explicit FirstFileTarget(std::unique_ptr<Target> target) : target_(std::move(target)) {}
  Status begin(const std::string& path) override {
    if (++files_ == 1) return target_->begin(path);
    ++left_out_.files;
    return Ok{};
  }
  Status write(std::string_view bytes) override {
    if (files_ == 1) return target_->write(bytes);
    left_out_.bytes += bytes.size();
    return Ok{};
  }
  Status end() override { return files_ == 1 ? target_->end() : Ok{}; }
  LeftOut left_out() const override { return left_out_; }

 private:
  std::unique_ptr<Target> target_;
  std::uint64_t files_ = 0;
  LeftOut left_out_;
};

bool is_folder(const std::string& path) {
  struct ::stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<std::unique_ptr<Target>> target_for(const ExportOptions& options,
                                           const exchange::Format& format) {
  if (!options.path) {
    std::unique_ptr<Target> target = std::make_unique<StdoutTarget>();
    if (!format.joinable) target = std::make_unique<FirstFileTarget>(std::move(target));
    return target;
  }
  const auto existing = options.force ? FileTree::Existing::replace : FileTree::Existing::refuse;
  const auto& path = *options.path;
  const bool one_file =
      format.one_file && options.ids.size() == 1 && !path.ends_with('/') && !is_folder(path);
  std::string folder = path, name;
  if (one_file) {
    const auto slash = path.find_last_of('/');
    folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    name = slash == std::string::npos ? path : path.substr(slash + 1);
  }
  REEF_TRY(auto tree, FileTree::open(folder, existing));
  std::unique_ptr<Target> target = std::make_unique<FolderTarget>(std::move(tree), std::move(name));
  if (one_file) target = std::make_unique<FirstFileTarget>(std::move(target));
  return target;
}

// Takes what the daemon sends, beginning with `answer`, until its summary.
Task<Result<protocol::FilePiece>> receive(client::Stream& stream,
                                          std::optional<protocol::ServerMessage> answer,
                                          Target& target) {
  for (bool inside = false;;) {
    if (!answer || !answer->has_file_piece()) co_return out_of_turn();
    const auto& piece = answer->file_piece();
    if (inside == (piece.last() || !piece.path().empty())) co_return out_of_turn();
    if (piece.last()) co_return piece;
    if (!piece.path().empty()) REEF_CO_CHECK(target.begin(piece.path()));
    REEF_CO_CHECK(target.write(piece.data()));
    if (piece.ends()) REEF_CO_CHECK(target.end());
    inside = !piece.ends();
    REEF_CO_TRY(answer, co_await stream.next());
  }
}

Task<Result<client::Stream>> ask(client::Client& client, const ExportOptions& options) {
  protocol::ClientMessage message;
  auto& request = *message.mutable_export_sessions();
  request.set_format(options.format);
  for (const auto& id : options.ids) request.add_ids(id);
  if (!options.where.empty()) request.mutable_query()->set_where(options.where);
  co_return co_await client.open(std::move(message));
}

// Whether it has the form of a new session's id: an unknown one is then a mistake, not a path.
bool looks_like_id(std::string_view text) {
  return text.size() > 7 && text[6] == '-' &&
         text.substr(0, 6).find_first_not_of("0123456789") == std::string_view::npos &&
         text.find('.') == std::string_view::npos;
}

// `export ID... PATH`: whether the last word may be a path.
bool may_end_in_path(const ExportOptions& options) {
  return !options.path && options.ids.size() > 1 && !looks_like_id(options.ids.back());
}

void take_path(ExportOptions& options) {
  options.path = std::move(options.ids.back());
  options.ids.pop_back();
}

using First = Result<std::optional<protocol::ServerMessage>>;

Task<Status> take_files(const Context& context, client::Stream& stream, First first,
                        const ExportOptions& options, const exchange::Format& format) {
  if (!first) co_return std::move(first).error();
  if (!options.path && options.ids.size() != 1 && !format.joinable)
    co_return Error(Errc::invalid, "several sessions need a folder: reef export ... DIR");
  if (!options.path && !format.one_file)
    co_return Error(Errc::invalid, "this format is a folder: reef export ... DIR");
  if (!options.path && context.json)
    co_return Error(Errc::invalid, "without a path the export itself is printed, not JSON");
  REEF_CO_TRY(const auto target, target_for(options, format));
  REEF_CO_TRY(const auto done, co_await receive(stream, *std::move(first), *target));
  for (const auto& problem : done.problems()) report("export", Error(Errc::io, problem));
  const auto left_out = target->left_out();
  const auto files = done.files() - left_out.files;
  const auto bytes = done.bytes() - left_out.bytes;
  if (left_out.files > 0)
    report("export",
           Error(Errc::invalid, fmt::format("{} file(s) of the session are left out: they "
                                            "need a folder to be exported to",
                                            left_out.files)));
  const auto missing = done.problems_size();
  if (options.path && context.json) {
    print_json(json::object{{"format", options.format},
                            {"sessions", done.sessions()},
                            {"files", files},
                            {"bytes", bytes}});
  } else if (options.path) {
    print_line(fmt::format("{} session(s) exported to {}: {} file(s), {}", done.sessions(),
                           utf8::visible(*options.path), files, human_bytes(bytes)));
  }
  if (missing > 0) co_return Error(Errc::io, fmt::format("{} session(s) are missing", missing));
  co_return Ok{};
}

Task<Status> export_sessions(const Context& context, client::Client& client, ExportOptions options,
                             const exchange::Format& format) {
  if (may_end_in_path(options) && options.ids.back().find('/') != std::string::npos)
    take_path(options);
  REEF_CO_TRY(auto stream, co_await ask(client, options));
  auto first = co_await stream.next();
  if (!first && first.error().code == Errc::not_found && may_end_in_path(options)) {
    take_path(options);
    REEF_CO_TRY(auto again, co_await ask(client, options));
    co_return co_await take_files(context, again, co_await again.next(), options, format);
  }
  co_return co_await take_files(context, stream, std::move(first), options, format);
}

}  // namespace

int run_export(const Context& context, ExportOptions options) {
  const auto usage = [](const std::string& why) {
    report("export", Error(Errc::invalid, why));
    return 2;
  };
  const auto format = exchange::find_format(options.format);
  if (!format) return usage(format.error().what);
  if (options.all && !options.where.empty()) return usage("either --all or --where");
  const bool many = options.all || !options.where.empty();
  if (many && !options.path && options.ids.size() == 1) take_path(options);
  if (many == !options.ids.empty())
    return usage(many ? "either ids, --all or --where" : "name sessions, or say --all or --where");
  return with_client(context, "export", Start::if_needed, [&](client::Client& client) {
    return export_sessions(context, client, options, **format);
  });
}

}  // namespace reef::cli
