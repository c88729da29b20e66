#include "policy/survey.h"

#include <algorithm>

#include "base/json.h"

namespace reef::policy {
namespace {

using client::Client;

// An invalid rule must not switch off the others.
void note(Survey& into, Status applied) {
  if (!applied) into.problems.push_back(applied.error().what);
}

void take_details(Survey& into, const std::string& text) {
  const auto parsed = json::parse(text);
  if (!parsed || !parsed->is_object()) return;
  const auto& details = parsed->get_object();
  if (const auto count = json::find_int(details, "memoryFlushCompactionCount");
      count && *count >= 0)
    into.facts.flushed_at = static_cast<std::uint64_t>(*count);
  into.facts.sends = json::find_string(details, "sendPolicy") != "deny";
  const auto* own = json::find_array(details, "policy");
  if (!own) return;
  std::vector<std::string> changes;
  for (const auto& item : *own)
    if (item.is_string()) changes.emplace_back(item.get_string());
  note(into, override_with(into.rules, changes));
}

}  // namespace

Task<void> take_agent(Client& client, Survey& into) {
  protocol::ClientMessage get;
  get.mutable_get_agent()->set_name(into.agent);
  const auto answer =
      co_await client.request(std::move(get), Client::Repeat::safe, kAnswerPatience);
  if (!answer || !answer->has_agent_info()) co_return;
  const auto& agent = answer->agent_info();
  const auto& tools = agent.tools();
  into.facts.may_remember =
      tools.empty() || std::find(tools.begin(), tools.end(), "remember") != tools.end();
  if (agent.config().empty()) co_return;
  const auto config = json::parse(agent.config());
  if (!config || !config->is_object()) co_return;
  // CrabTalk's files have the threshold here, beside our own [policy].
  if (const auto limit = json::find_int(config->get_object(), "compact_threshold"))
    note(into, override_with(into.rules, json::object{{"compact_threshold", *limit}}));
  if (const auto* own = json::find_object(config->get_object(), "policy"))
    note(into, override_with(into.rules, *own));
}

Task<Result<Survey>> survey(Client& client, const std::string& id, const Rules& node) {
  Survey out;
  out.id = id;
  out.rules = node;

  protocol::ClientMessage describe;
  describe.mutable_describe_session()->set_id(id);
  REEF_CO_TRY(const auto described,
              co_await client.request(std::move(describe), Client::Repeat::safe, kAnswerPatience));
  const auto& session = described.session_description();
  const auto& row = session.session();
  out.key = row.key();
  out.agent = row.agent();
  out.sender = row.sender();

  co_await take_agent(client, out);
  take_details(out, row.details());

  auto& facts = out.facts;
  facts.tokens = session.context().tokens();
  facts.window = session.context().window();
  facts.compactions = session.compactions();
  facts.messages = row.message_count();
  facts.titled = !row.title().empty();
  facts.model = session.model();
  facts.permission_mode = session.permission_mode();
  co_return out;
}

}  // namespace reef::policy
