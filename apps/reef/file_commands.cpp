// attach, files, cat: handle the files of a session.

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "base/utf8.h"
#include "commands.h"

namespace reef::cli {
namespace {

// Files of this size show their progress on a terminal.
constexpr std::uint64_t kProgressBytes = 4U << 20;

json::object to_json(const protocol::FileInfo& file) {
  json::object out{{"path", utf8::sanitize(file.path())},
                   {"name", utf8::sanitize(file.name())},
                   {"type", file.type()},
                   {"bytes", file.bytes()},
                   {"modifiedAt", file.modified_at()}};
  if (!file.sha().empty()) {
    out["sha"] = file.sha();
    out["existed"] = file.existed();
  }
  return out;
}

void print_file(const protocol::FileInfo& file) {
  const auto name = file.name() == file.path().substr(file.path().rfind('/') + 1)
                        ? std::string()
                        : fmt::format("  ({})", utf8::prefix_chars(shown(file.name()), 60));
  print_line(fmt::format("{:>9}  {:<24}  {}{}", human_bytes(file.bytes()), shown(file.type()),
                         shown(file.path()), name));
}

Result<Fd> open_source(const std::string& path, std::uint64_t& bytes) {
  // Opens without waiting, because a pipe without a writer must not hang the command.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return sys_error(errno, "open " + path);
  struct ::stat info = {};
  if (::fstat(fd.get(), &info) != 0) return sys_error(errno, "stat " + path);
  if (!S_ISREG(info.st_mode)) return Error(Errc::invalid, path + " is not a plain file");
  bytes = static_cast<std::uint64_t>(info.st_size);
  return fd;
}

Task<Result<protocol::FileInfo>> attach_one(client::Client& client, const std::string& id,
                                            const std::string& path) {
  client::Client::AttachSource source;
  REEF_CO_TRY(const Fd fd, open_source(path, source.bytes));
  source.name = path.substr(path.rfind('/') + 1);
  PosixFiles files;
  source.read = [&](std::uint64_t from, std::size_t size) {
    return read_range(files, fd.get(), from, size);
  };
  const bool tell = source.bytes >= kProgressBytes && ::isatty(STDERR_FILENO) == 1;
  const auto total = source.bytes;
  const auto name = shown(source.name);
  if (tell)
    source.progress = [&](std::uint64_t sent) {
      std::fprintf(stderr, "\r\x1b[K%s  %s of %s", name.c_str(), human_bytes(sent).c_str(),
                   human_bytes(total).c_str());
    };
  auto attached = co_await client.attach(id, std::move(source));
  if (tell) std::fputs("\r\x1b[K", stderr);
  if (!attached) co_return std::move(attached).error().with(path);
  co_return attached;
}

Task<Status> attach(const Context& context, client::Client& client, std::string id,
                    std::vector<std::string> paths) {
  json::array out;
  Status outcome = Ok{};
  for (const auto& path : paths) {
    const auto file = co_await attach_one(client, id, path);
    if (!file) {
      outcome = file.error();
      break;
    }
    if (!context.json) print_file(*file);
    out.push_back(to_json(*file));
  }
  if (context.json && (outcome || !out.empty())) print_json(out);
  co_return outcome;
}

Task<Status> files(const Context& context, client::Client& client, protocol::ListFiles query) {
  json::array out;
  auto left = query.limit();
  const bool limited = left > 0;
  for (;;) {
    REEF_CO_TRY(const auto page, co_await client.files(query));
    for (const auto& file : page.files()) {
      if (!context.json) print_file(file);
      out.push_back(to_json(file));
    }
    query.set_cursor(page.cursor());
    left -= std::min<std::uint32_t>(left, static_cast<std::uint32_t>(page.files_size()));
    if (page.cursor().empty() || (limited && left == 0)) break;
    query.set_limit(left);
  }
  const auto rest = query.cursor();
  if (context.json) {
    print_json(out);
    if (!rest.empty())
      std::fprintf(stderr, "reef: files: there are more: --cursor '%s'\n", shown(rest).c_str());
  } else if (out.empty()) {
    print_line("no files");
  } else if (!rest.empty()) {
    print_line(fmt::format("there are more: --cursor '{}'", shown(rest)));
  }
  co_return Ok{};
}

Task<Status> cat(client::Client& client, std::string id, std::string path) {
  protocol::ClientMessage message;
  message.mutable_read_file()->set_id(std::move(id));
  message.mutable_read_file()->set_path(std::move(path));
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  Output output;
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next(std::chrono::seconds(30)));
    if (!answer) break;
    if (!output.write(answer->file_data().data()))
      co_return Error(Errc::io, "could not write to standard output");
  }
  output.end();
  co_return Ok{};
}

}  // namespace

int run_attach(const Context& context, const std::string& id,
               const std::vector<std::string>& paths) {
  return with_client(context, "attach", Start::if_needed,
                     [&](client::Client& client) { return attach(context, client, id, paths); });
}

int run_files(const Context& context, const protocol::ListFiles& query) {
  return with_client(context, "files", Start::if_needed,
                     [&](client::Client& client) { return files(context, client, query); });
}

int run_cat(const Context& context, const std::string& id, const std::string& path) {
  return with_client(context, "cat", Start::if_needed,
                     [&](client::Client& client) { return cat(client, id, path); });
}

}  // namespace reef::cli
