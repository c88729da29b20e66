#include "daemon/agent_files.h"

#include "base/log.h"

namespace reef::daemon {
namespace {

Status write_one(session::Documents& documents, const std::string& name, const std::string& text) {
  const auto done = documents.replace(name, text, session::Whatever{});
  if (!done) return done.error();
  return Ok{};
}

Status remove_if_there(session::Documents& documents, const std::string& name) {
  auto done = documents.remove(name, session::Whatever{});
  if (!done && done.error().code == Errc::not_found) return Ok{};
  return done;
}

Status write_or_remove(session::Documents& documents, const std::string& name,
                       const std::string& text) {
  if (text.empty()) return remove_if_there(documents, name);
  return write_one(documents, name, text);
}

}  // namespace

Result<std::vector<std::string>> AgentFiles::names() const {
  constexpr std::string_view kSuffix = ".toml";
  constexpr std::size_t kFilesMax = 100'000;  // those of removed ones among them
  REEF_TRY(const auto all, session::names_in(documents, folder, kFilesMax));
  std::vector<std::string> out;
  for (const auto& name : all) {
    const auto inside = std::string_view(name).substr(folder.size());
    if (inside.ends_with(kSuffix) && inside.find('/') == std::string_view::npos)
      out.emplace_back(inside.substr(0, inside.size() - kSuffix.size()));
  }
  return out;
}

Result<std::optional<std::string>> AgentFiles::read(const std::string& name) const {
  REEF_TRY(auto document, documents.read(name, kAgentFileBytesMax));
  if (!document) return std::optional<std::string>();
  return std::optional(std::move(document->bytes));
}

Result<std::optional<std::string>> AgentFiles::read_config(const std::string& agent) const {
  return read(config_name(agent));
}

Result<std::optional<std::string>> AgentFiles::read_prompt(const std::string& agent) const {
  return read(prompt_name(agent));
}

Status AgentFiles::write(const std::string& agent, const std::optional<std::string>& prompt,
                         const std::optional<std::string>& config) const {
  REEF_TRY(const auto before, read_prompt(agent));
  if (prompt) REEF_CHECK(write_or_remove(documents, prompt_name(agent), *prompt));
  if (!config) return Ok{};
  auto done = write_one(documents, config_name(agent), *config);
  if (done || !prompt) return done;
  const auto undone = write_or_remove(documents, prompt_name(agent), before.value_or(""));
  if (!undone)
    log::error("agent {}: its prompt could not be put back: {}", agent, undone.error().what);
  return done;
}

Status AgentFiles::remove(const std::string& agent) const {
  const AgentFiles removed{documents, folder + "removed/"};
  // The configuration first: without it there is no agent.
  REEF_CHECK(documents.rename(config_name(agent), removed.config_name(agent), session::Whatever{}));
  const auto moved =
      documents.rename(prompt_name(agent), removed.prompt_name(agent), session::Whatever{});
  if (moved || moved.error().code != Errc::not_found) return moved;
  // Not the words of an earlier agent of that name.
  return remove_if_there(documents, removed.prompt_name(agent));
}

Status AgentFiles::erase(const std::string& agent) const {
  REEF_CHECK(remove_if_there(documents, config_name(agent)));
  return remove_if_there(documents, prompt_name(agent));
}

}  // namespace reef::daemon
