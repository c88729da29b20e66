// Handles the differences between CrabTalk's generations: requests are put into one form before
// anybody sees them, and requests that only one generation makes are answered here.
// docs/protocol.md lists the generations.

#include "server/crabtalk.h"

#include <cctype>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

#include "base/utf8.h"
#include "organise/definitions.h"
#include "recall/recall.h"
#include "runtime/permission.h"
#include "runtime/runtime.h"
#include "server/entrance.h"
#include "server/operations.h"
#include "server/server.h"
#include "session/session.h"
#include "skills/library.h"

namespace reef::server {
namespace {

struct CrabTalkNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  organise::Definitions& definitions;
  recall::Recall& recall;
  skills::Library& skills;
  Entrance& entrance;
  Clock& clock;
  TranslationNeeds translation() const { return {runtime, sessions}; }
  static CrabTalkNeeds of(const Node& node) {
    return {node.runtime, node.sessions, node.definitions, node.recall,
            node.skills,  node.entrance, node.clock};
  }
};

using google::protobuf::FieldDescriptor;
using protocol::ServerMessage;
using runtime::kHandlePrefix;

constexpr std::size_t kHandleBytesMax = 300;

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

// Any opaque string is a handle. A key cannot hold all of them, so they are encoded as in URLs.
Result<std::string> key_of_handle(std::string_view handle) {
  if (handle.size() > kHandleBytesMax)
    return Error(Errc::invalid, fmt::format("a session_handle has at most {} bytes, this one {}",
                                            kHandleBytesMax, handle.size()));
  std::string key(kHandlePrefix);
  for (const char c : handle) {
    if (is_plain(c)) {
      key += c;
    } else {
      key += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return key;
}

std::string handle_in(std::string_view key) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
  std::string out;
  for (std::size_t i = kHandlePrefix.size(); i < key.size(); ++i) {
    if (key[i] == '%' && i + 2 < key.size()) {
      out += static_cast<char>(digit(key[i + 1]) * 16 + digit(key[i + 2]));
      i += 2;
    } else {
      out += key[i];
    }
  }
  return out;
}

// The conversation of a handle: the one begun with it, or the one whose session has it as its id.
struct Conversation {
  std::string key;
  const session::Row* row = nullptr;  // none: it was never seen
};
Result<Conversation> conversation_of(TranslationNeeds needs, std::string_view handle) {
  Conversation out;
  REEF_TRY(out.key, key_of_handle(handle));
  REEF_TRY(const auto key, session::Key::parse(out.key));
  if (const auto id = needs.sessions.current(key)) {
    out.row = needs.sessions.find(*id);
    return out;
  }
  const auto id = session::SessionId::parse(handle);
  const auto* row = id ? needs.sessions.find(*id) : nullptr;
  if (!row) return out;
  const auto bound = session::Key::parse(row->key());
  if (!bound || needs.sessions.current(*bound) != row->id)
    return Error(Errc::conflict, fmt::format("session {} is not the current one of its "
                                             "conversation; resume it first",
                                             row->id.text()));
  out.key = bound->text();
  out.row = row;
  return out;
}

// Returns the name for a name, an id or the alias; an unknown name is kept for the error.
std::string canonical(TranslationNeeds needs, const std::string& agent) {
  const auto& setup = needs.runtime.setup();
  if (agent.empty() || setup.agents.contains(agent)) return agent;
  const auto found = setup.find(agent);
  return found ? found->name : agent;
}

void name_agents(TranslationNeeds needs, google::protobuf::Message& request) {
  const auto* reflection = request.GetReflection();
  const auto* type = request.GetDescriptor();
  for (const auto* word : {"agent", "target_agent", "guest"}) {
    const auto* field = type->FindFieldByName(word);
    if (!field || field->type() != FieldDescriptor::TYPE_STRING || field->is_repeated()) continue;
    const auto given = reflection->GetString(request, field);
    const auto name = canonical(needs, given);
    if (name != given) reflection->SetString(&request, field, name);
  }
}

// Names the agent: agent:crab:done is the default agent's, agent:ID:done that of the id.
template <class Request>
void name_source(TranslationNeeds needs, Request& request) {
  constexpr std::string_view kAgents = "agent:";
  if (!request.source().starts_with(kAgents)) return;
  const auto rest = request.source().substr(kAgents.size());
  const auto agent = rest.substr(0, rest.find(':'));
  request.set_source(
      fmt::format("{}{}{}", kAgents, canonical(needs, agent), rest.substr(agent.size())));
}

template <class Request>
Status address_turn(TranslationNeeds needs, const protocol::Peer& peer, Request& request) {
  if (request.session_handle().empty() || request.has_key()) return Ok{};
  if constexpr (requires { request.ephemeral(); })
    if (request.ephemeral()) return Ok{};
  REEF_TRY(const auto conversation, conversation_of(needs, request.session_handle()));
  request.set_key(conversation.key);
  if (conversation.row) {
    // The first message decided whom the session belongs to.
    request.set_agent(canonical(needs, std::string(conversation.row->agent())));
    request.set_sender(std::string(conversation.row->sender()));
  } else if (request.sender().empty()) {
    request.set_sender(peer.sender);
  }
  return Ok{};
}

template <class Request>
Status address_request(TranslationNeeds needs, Request& request) {
  if (request.session_handle().empty() || request.has_key()) return Ok{};
  REEF_TRY(const auto conversation, conversation_of(needs, request.session_handle()));
  request.set_key(conversation.key);
  if (conversation.row) request.set_agent(canonical(needs, std::string(conversation.row->agent())));
  return Ok{};
}

// A list may have shown a handle as the path.
template <class Request>
void address_path(TranslationNeeds needs, Request& request) {
  const auto id = session::SessionId::parse(request.file_path());
  if (request.file_path().empty() || (id && needs.sessions.find(*id))) return;
  const auto conversation = conversation_of(needs, request.file_path());
  if (conversation && conversation->row) request.set_file_path(conversation->row->id.text());
}

Task<ServerMessage> create(CrabTalkNeeds needs, session::Sessions::New request) {
  const auto there = co_await needs.entrance.check_folder("root", request.cwd);
  if (!there) co_return protocol::make_error(there.error());
  const auto made = co_await needs.sessions.create(std::move(request));
  co_return made ? protocol::make_pong() : protocol::make_error(made.error());
}

Result<session::Sessions::New> session_from(CrabTalkNeeds needs,
                                            const protocol::CreateSession& request,
                                            const std::optional<session::ClientMark>& mark) {
  if (request.session_handle().empty())
    return Error(Errc::invalid, "session_handle: a new session needs one");
  REEF_TRY(const auto conversation, conversation_of(needs.translation(), request.session_handle()));
  if (conversation.row)
    return Error(Errc::conflict, fmt::format("session '{}' exists already",
                                             utf8::excerpt(request.session_handle())));
  REEF_TRY(auto address,
           needs.runtime.resolve(request.agent(), request.sender(), conversation.key));
  return session::Sessions::New{address.key,
                                address.agent.name,
                                std::move(address.sender),
                                request.root(),
                                {},
                                {},
                                mark ? session::made_for(*mark) : std::string()};
}

Task<ServerMessage> find(CrabTalkNeeds needs, recall::Ask ask) {
  auto found = co_await needs.recall.search(std::move(ask));
  if (!found) co_return protocol::make_error(found.error());
  ServerMessage message;
  auto& out = *message.mutable_session_hits();
  for (auto& hit : found->hits) {
    const auto* row = needs.sessions.find(hit.session);
    if (!row) continue;
    auto& one = *out.add_hits();
    one.set_session_handle(handle_of(*row));
    one.set_score(hit.score);
    one.set_title(std::string(row->name()));
    one.set_sender(std::string(row->sender()));
    one.set_created_at(format_iso(row->created));
    one.set_updated_at(format_iso(row->updated));
    one.set_agent_id(agent_id(needs.runtime.setup(), row->agent()));
    one.set_agent_name(std::string(row->agent()));
    for (std::size_t i = 0; i < hit.items.size(); ++i) {
      auto& item = hit.items[i];
      if (i == hit.hit) one.set_msg_idx(item.index);
      auto& line = *one.add_window();
      line.set_role(std::string(name_of(item.role)));
      line.set_msg_idx(item.index);
      line.set_snippet(std::move(item.snippet));
      line.set_truncated(item.truncated);
      line.set_tool_name(std::move(item.tool));
    }
  }
  co_return message;
}

Task<ServerMessage> body_of(CrabTalkNeeds needs, std::string name) {
  const auto opened = co_await needs.skills.open(name, {});
  if (!opened) co_return protocol::make_error(opened.error());
  ServerMessage message;
  message.mutable_skill_body()->set_name(opened->found.skill.name);
  message.mutable_skill_body()->set_body(opened->found.skill.body);
  co_return message;
}

}  // namespace

std::string handle_of(const session::Row& row) {
  return row.key().starts_with(kHandlePrefix) ? utf8::sanitize(handle_in(row.key()))
                                              : row.id.text();
}

std::string agent_id(const runtime::Setup& setup, std::string_view name) {
  const auto found = setup.agents.find(name);
  return found == setup.agents.end() ? std::string() : found->second.id;
}

Status translate(TranslationNeeds needs, const protocol::Peer& peer,
                 protocol::ClientMessage& message) {
  using M = protocol::ClientMessage;
  const auto* field = message.GetDescriptor()->FindFieldByNumber(message.msg_case());
  if (field && field->message_type())
    name_agents(needs, *message.GetReflection()->MutableMessage(&message, field));
  switch (message.msg_case()) {
    case M::kSend:
      return address_turn(needs, peer, *message.mutable_send());
    case M::kStream:
      return address_turn(needs, peer, *message.mutable_stream());
    case M::kKill:
      return address_request(needs, *message.mutable_kill());
    case M::kCompact: {
      auto& request = *message.mutable_compact();
      if (request.instructions().empty()) request.set_instructions(request.prompt());
      return address_request(needs, request);
    }
    case M::kCancelStream: {
      protocol::Kill kill;
      kill.set_session_handle(message.cancel_stream().session_handle());
      if (kill.session_handle().empty())
        return Error(Errc::invalid, "session_handle: which session?");
      REEF_CHECK(address_request(needs, kill));
      *message.mutable_kill() = std::move(kill);
      return Ok{};
    }
    case M::kSubscribeEvent:
      name_source(needs, *message.mutable_subscribe_event());
      return Ok{};
    case M::kPublishEvent:
      name_source(needs, *message.mutable_publish_event());
      return Ok{};
    case M::kGetConversationHistory:
      address_path(needs, *message.mutable_get_conversation_history());
      return Ok{};
    case M::kDeleteConversation:
      address_path(needs, *message.mutable_delete_conversation());
      return Ok{};
    case M::kCreateAgent: {
      auto& request = *message.mutable_create_agent();
      // 0.0.24 knows no prompt beside the description, which is what the model is told.
      if (!peer.legacy || !request.prompt().empty()) return Ok{};
      const auto config = json::parse(request.config());
      const auto* fields = config ? config->if_object() : nullptr;
      if (fields && !fields->contains("prompt") && !fields->contains("system_prompt"))
        request.set_prompt(std::string(json::find_string(*fields, "description").value_or("")));
      return Ok{};
    }
    case M::kUpdateAgent: {
      auto& request = *message.mutable_update_agent();
      // An unknown name makes an agent; an unknown id does not.
      if (!request.agent().empty() && !needs.runtime.setup().agents.contains(request.agent()))
        return Error(Errc::not_found,
                     fmt::format("agent '{}' not found", utf8::excerpt(request.agent())));
      request.set_name(
          canonical(needs, request.agent().empty() ? request.name() : request.agent()));
      return Ok{};
    }
    case M::kDeleteAgent: {
      auto& request = *message.mutable_delete_agent();
      request.set_name(
          canonical(needs, request.agent().empty() ? request.name() : request.agent()));
      return Ok{};
    }
    case M::kRenameAgent: {
      auto& request = *message.mutable_rename_agent();
      request.set_old_name(
          canonical(needs, request.agent().empty() ? request.old_name() : request.agent()));
      return Ok{};
    }
    default:
      return Ok{};
  }
}

namespace {

protocol::Answer answer_create_session(const Asked& asked) {
  const auto& request = asked.message.create_session();
  const CrabTalkNeeds needs = asked.needs();
  // Made by this very request: a crash came before it was answered.
  if (const auto conversation = conversation_of(needs.translation(), request.session_handle());
      asked.mark && conversation && conversation->row &&
      session::is_made_for(conversation->row->text("madeFor"), *asked.mark) == session::Made::same)
    return protocol::answer_with(protocol::make_pong());
  auto wanted = session_from(needs, request, asked.mark);
  if (!wanted) return protocol::answer_with(wanted.error());
  return protocol::answer_with(create(needs, *std::move(wanted)));
}

protocol::Answer answer_find_sessions(CrabTalkNeeds needs, const protocol::FindSessions& request) {
  recall::Ask ask;
  ask.query = request.query();
  if (request.has_limit() && request.limit() > 0) ask.limit = request.limit();
  if (request.has_context_before()) ask.before = request.context_before();
  if (request.has_context_after()) ask.after = request.context_after();
  ask.filter = [defined = needs.definitions.known(),
                &clock = needs.clock](const std::string& text) {
    return organise::row_test(text, defined, clock.now());
  };
  if (!request.agent().empty() || !request.sender().empty())
    ask.allowed = [agent = request.agent(), sender = request.sender()](const session::Row& row) {
      return (agent.empty() || row.agent() == agent) && (sender.empty() || row.sender() == sender);
    };
  return protocol::answer_with(find(needs, std::move(ask)));
}

protocol::Answer answer_get_skill(CrabTalkNeeds needs, const protocol::GetSkill& request) {
  if (request.name().empty()) return protocol::answer_with(Error(Errc::invalid, "which skill?"));
  return protocol::answer_with(body_of(needs, request.name()));
}

}  // namespace

protocol::Answer answer_unknown(const protocol::ClientMessage& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  if (unknown.empty()) return protocol::answer_with(Error(Errc::invalid, "empty client message"));
  return protocol::answer_with(
      Error(Errc::invalid, fmt::format("unknown operation {}", unknown.field(0).number())));
}

Operations crabtalk_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      // translate() has made a Kill of it before it is answered.
      {M::kCancelStream, Right::answer, Messages::one, Naming::ledger,
       [](const Asked&) {
         return protocol::answer_with(Error(Errc::internal, "a cancelled stream is a kill"));
       }},
      {M::kGetSkill, Right::read, Messages::one, Naming::none,
       answered<&M::get_skill, answer_get_skill>},
      {M::kFindSessions, Right::read, Messages::one, Naming::none,
       answered<&M::find_sessions, answer_find_sessions>},
      {M::kCreateSession, Right::answer, Messages::one, Naming::ledger, answer_create_session},
  };
  return kRows;
}

}  // namespace reef::server
