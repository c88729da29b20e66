#include "exchange/crabtalk/store.h"

#include <map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/crabtalk/conversation.h"
#include "exchange/crabtalk/crab_file.h"
#include "exchange/crabtalk/setup.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

using Column = CrabFile::Column;

class StoreReader {
 public:
  StoreReader(CrabFile file, std::string path, Intake& intake)
      : file_(std::move(file)), path_(std::move(path)), intake_(intake), report_(intake, path_) {}

  Status read();

 private:
  struct Session {
    std::string handle;
    json::object meta;
    std::string agent;  // its name
    bool newest = true;
  };

  std::optional<json::value> json_at(Column column, const std::string& key);
  Status read_agents();
  Status read_memory();
  Status read_skills();
  std::vector<Session> sessions();
  Status read_session(const Session& session);
  Status read_lines(const Session& session, CrabTalkConversation& conversation);
  Status take(CrabTalkConversation& conversation, json::object line, const std::string& seed);

  CrabFile file_;
  std::string path_;
  Intake& intake_;
  Report report_;
  std::map<std::string, std::string> agents_;  // id -> name
  Archives archives_;
};

std::optional<json::value> StoreReader::json_at(Column column, const std::string& key) {
  const auto text = file_.value(column, key);
  if (!text && text.error().code == Errc::not_found) return std::nullopt;
  auto value = text ? json::parse_lenient(*text) : Result<json::value>(text.error());
  if (value) {
    intake_.consumed(text->size());
    return *std::move(value);
  }
  report_(0, fmt::format("{}: {}", utf8::excerpt(key), value.error().what));
  return std::nullopt;
}

Status StoreReader::read() {
  if (file_.torn()) report_(0, "its end is cut off; what is before it was read");
  REEF_CHECK(read_agents());
  REEF_CHECK(read_memory());
  REEF_CHECK(read_skills());
  for (const auto& session : sessions()) {
    if (intake_.cancelled()) return Error(Errc::cancelled, "the import was given up");
    REEF_CHECK(read_session(session));
  }
  return Ok{};
}

// CrabTalk describes an agent in one text, which is also its prompt.
Status StoreReader::read_agents() {
  for (const auto& id : file_.keys(Column::agent, "local/agent/")) {
    auto value = json_at(Column::agent, "local/agent/" + id);
    if (!value || !value->is_object()) continue;
    Definition agent;
    agent.kind = Definition::Kind::agent;
    agent.body = std::move(value->get_object());
    agent.name = json::find_string(agent.body, "name").value_or("");
    if (agent.name.empty()) continue;
    agents_[id] = agent.name;
    agent.text = json::find_string(agent.body, "description").value_or("");
    agent.body.erase("name");
    agent.body["description"] = utf8::excerpt(agent.text, 200);
    REEF_CHECK(intake_.define(crabtalk_agent(std::move(agent))));
  }
  return Ok{};
}

Status StoreReader::read_memory() {
  for (const auto& name : file_.keys(Column::memory, "local/memory/")) {
    const auto value = json_at(Column::memory, "local/memory/" + name);
    if (!value || !value->is_object()) continue;
    const auto& object = value->get_object();
    memory::Entry entry;
    entry.name = json::find_string(object, "name").value_or(name);
    entry.content = json::find_string(object, "content").value_or("");
    if (const auto* aliases = json::find_array(object, "aliases"))
      for (const auto& alias : *aliases)
        if (alias.is_string()) entry.aliases.emplace_back(alias.get_string());
    if (const auto time = time_from(object.if_contains("created_at")))
      entry.created_at = static_cast<std::uint64_t>(unix_millis(*time) / 1000);
    if (json::find_string(object, "kind") == "archive") {
      entry.kind = memory::Kind::archive;
      archives_.emplace(entry.name, std::make_shared<const memory::Entry>(entry));
      continue;
    }
    auto owners = agents_;
    if (owners.empty()) owners[""] = "crab";
    for (const auto& [id, agent] : owners) REEF_CHECK(intake_.define(crabtalk_note(entry, agent)));
  }
  return Ok{};
}

Status StoreReader::read_skills() {
  for (const auto& name : file_.keys(Column::skill, "local/skill/body/")) {
    auto text = file_.value(Column::skill, "local/skill/body/" + name);
    if (!text) {
      report_(0, fmt::format("skill {}: {}", utf8::excerpt(name), text.error().what));
      continue;
    }
    intake_.consumed(text->size());
    Definition skill;
    skill.kind = Definition::Kind::skill;
    skill.name = name;
    skill.text = *std::move(text);
    REEF_CHECK(intake_.define(std::move(skill)));
  }
  return Ok{};
}

std::vector<StoreReader::Session> StoreReader::sessions() {
  std::vector<Session> out;
  constexpr std::string_view kMeta = "/meta";
  std::map<std::string, std::pair<std::string, std::size_t>> newest;  // pair -> created, place
  for (const auto& key : file_.keys(Column::session, "local/session/")) {
    if (!key.ends_with(kMeta)) continue;
    Session session;
    session.handle = key.substr(0, key.size() - kMeta.size());
    if (session.handle.find('/') != std::string::npos) continue;
    auto value = json_at(Column::session, "local/session/" + key);
    if (!value || !value->is_object()) continue;
    session.meta = std::move(value->get_object());
    const std::string id(json::find_string(session.meta, "agent").value_or(""));
    const auto known = agents_.find(id);
    session.agent = known == agents_.end() ? "" : known->second;
    const auto pair = session.agent + '\n' +
                      std::string(json::find_string(session.meta, "created_by").value_or(""));
    const std::string created(json::find_string(session.meta, "created_at").value_or(""));
    const auto [at, fresh] = newest.try_emplace(pair, created, out.size());
    if (!fresh) {
      session.newest = created > at->second.first;
      if (session.newest) {
        out[at->second.second].newest = false;
        at->second = {created, out.size()};
      }
    }
    out.push_back(std::move(session));
  }
  return out;
}

Status StoreReader::read_session(const Session& session) {
  const auto& meta = session.meta;
  const auto created = time_from(meta.if_contains("created_at"));
  const auto updated = time_from(meta.if_contains("updated_at"));
  const auto handle = utf8::sanitize(session.handle);
  Head head;
  head.path = path_ + "#" + handle;
  head.created = created.value_or(modified_time(file_.stat()));
  head.origin = fmt::format("crabtalk:{}{}", handle, created ? "@" + format_iso(*created) : "");
  head.id = handle;
  head.mark = fmt::format("{}:{}", json::find_string(meta, "updated_at").value_or(""),
                          json::find_int(meta, "message_count").value_or(0));
  head.cwd = json::find_string(meta, "root").value_or("");
  head.of_store = true;
  const std::string sender(json::find_string(meta, "created_by").value_or(""));
  if (session::check_agent_name(session.agent)) head.meta["agent"] = session.agent;
  if (session::check_sender(sender)) head.meta["sender"] = sender;
  if (session.newest && !session.agent.empty())
    if (const auto key = session::Key::of_pair(session.agent, sender))
      head.meta["key"] = key->text();
  if (const auto title = json::find_string(meta, "title"); title && !title->empty())
    set_meta(head.meta, "name", json::value(*title));
  const auto start = head.created;
  REEF_TRY(const bool wanted, intake_.begin(std::move(head)));
  if (!wanted) return Ok{};
  CrabTalkConversation conversation(intake_, archives_, start);
  REEF_CHECK(read_lines(session, conversation));
  REEF_CHECK(conversation.finish(updated));
  return intake_.end();
}

Status StoreReader::take(CrabTalkConversation& conversation, json::object line,
                         const std::string& seed) {
  REEF_TRY(const auto wrong, conversation.take_line(std::move(line), seed, std::nullopt));
  if (!wrong.empty()) report_(0, wrong);
  return Ok{};
}

Status StoreReader::read_lines(const Session& session, CrabTalkConversation& conversation) {
  const auto root = "local/session/" + session.handle;
  std::string archive;
  if (const auto value = json_at(Column::session, root + "/archive"); value && value->is_string()) {
    archive = value->get_string();
    REEF_CHECK(take(conversation, json::object{{"archive_name", archive}},
                    stable_id("archive\n" + archive).text));
  }
  for (const auto* kind : {"/msg/", "/evt/"})
    for (const auto& number : file_.keys(Column::session, root + kind)) {
      if (intake_.cancelled()) return Error(Errc::cancelled, "the import was given up");
      auto value = json_at(Column::session, root + kind + number);
      if (!value || !value->is_object()) continue;
      // Numbers begin again with each archive.
      const auto seed =
          stable_id(fmt::format("{}{}\n{}\n{}", kind, number, archive, json::write(*value))).text;
      REEF_CHECK(take(conversation, std::move(value->get_object()), seed));
    }
  return Ok{};
}

}  // namespace

Status read_crabtalk_store(Files& files, const std::string& path, Intake& intake) {
  auto file = CrabFile::open(files, path);
  if (!file) {
    intake.problem({path, 0, file.error().what});
    return Ok{};
  }
  return StoreReader(*std::move(file), path, intake).read();
}

}  // namespace reef::exchange
