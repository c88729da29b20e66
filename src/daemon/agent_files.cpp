#include "daemon/agent_files.h"

#include "base/log.h"

namespace reef::daemon {
namespace {

Result<std::optional<std::string>> read_if_there(Files& files, const std::string& path) {
  auto text = read_all(files, path);
  if (text) return std::optional<std::string>(*std::move(text));
  if (text.error().code == Errc::not_found) return std::optional<std::string>();
  return std::move(text).error();
}

Status remove_if_there(Files& files, const std::string& path) {
  auto done = files.remove(path);
  if (!done && done.error().code == Errc::not_found) return Ok{};
  return done;
}

Status write_or_remove(Files& files, const std::string& path, const std::string& text) {
  if (text.empty()) return remove_if_there(files, path);
  return replace_atomically(files, path, text);
}

}  // namespace

Result<std::optional<std::string>> AgentFiles::read_config(const std::string& name) const {
  return read_if_there(files, config_path(name));
}

Result<std::optional<std::string>> AgentFiles::read_prompt(const std::string& name) const {
  return read_if_there(files, prompt_path(name));
}

Status AgentFiles::write(const std::string& name, const std::optional<std::string>& prompt,
                         const std::optional<std::string>& config) const {
  REEF_CHECK(make_directories(files, directory));
  REEF_TRY(const auto before, read_prompt(name));
  REEF_TRY(const auto old, read_config(name));
  const auto undo = [&] {
    if (!prompt) return;
    const auto undone = write_or_remove(files, prompt_path(name), before.value_or(""));
    if (!undone)
      log::error("agent {}: its prompt could not be put back: {}", name, undone.error().what);
  };
  if (prompt) {
    if (auto done = write_or_remove(files, prompt_path(name), *prompt); !done) {
      undo();
      return done;
    }
  }
  if (config) {
    if (auto done = replace_atomically(files, config_path(name), *config); !done) {
      // The write may have failed after the file was in place.
      const auto undone = old ? replace_atomically(files, config_path(name), *old)
                              : remove_if_there(files, config_path(name));
      if (!undone) log::error("agent {}: {}", name, undone.error().what);
      undo();
      return done;
    }
  }
  return Ok{};
}

Status AgentFiles::remove(const std::string& name) const {
  const AgentFiles removed{files, directory + "/removed"};
  REEF_CHECK(make_directories(files, removed.directory));
  // The configuration goes first, because there is no agent without it.
  REEF_CHECK(files.rename(config_path(name), removed.config_path(name)));
  const auto moved = files.rename(prompt_path(name), removed.prompt_path(name));
  if (!moved && moved.error().code == Errc::not_found) {
    // The prompt of an earlier removed agent of that name must not stay.
    REEF_CHECK(remove_if_there(files, removed.prompt_path(name)));
  } else if (!moved) {
    return moved;
  }
  REEF_CHECK(files.sync_directory(removed.directory));
  return files.sync_directory(directory);
}

Status AgentFiles::erase(const std::string& name) const {
  REEF_CHECK(remove_if_there(files, config_path(name)));
  REEF_CHECK(remove_if_there(files, prompt_path(name)));
  return files.sync_directory(directory);
}

}  // namespace reef::daemon
