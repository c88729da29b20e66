#include "policy/reminder.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "policy/survey.h"

namespace reef::policy {
namespace {

using client::Client;

constexpr std::uint32_t kHits = 3;
// How many entries of a memory are asked for at first; archives among them are dropped afterwards.
constexpr std::uint32_t kEntriesAsked = 20;
constexpr std::uint32_t kEntriesGrowth = 10;
constexpr std::size_t kHitBytesMax = 600;

// The rules of the conversation's current session, else those of its agent.
Task<Survey> rules_for(Client& client, const client::TurnRequest& turn, const Rules& node) {
  Survey out;
  out.rules = node;
  protocol::ClientMessage message;
  auto& describe = *message.mutable_describe_session();
  describe.set_agent(turn.agent);
  describe.set_sender(turn.sender);
  if (turn.key) describe.set_key(*turn.key);
  const auto known =
      co_await client.request(std::move(message), Client::Repeat::safe, kAnswerPatience);
  if (known) {
    const auto id = known->session_description().session().id();
    if (auto found = co_await survey(client, id, node)) co_return *std::move(found);
  }
  out.agent = turn.agent;
  out.sender = turn.sender;
  co_await take_agent(client, out);
  co_return out;
}

void add(std::string& into, std::string_view where, std::string_view text) {
  into += fmt::format("- {}: {}\n", where, utf8::excerpt(utf8::single_line(text), kHitBytesMax));
}

using Entries = std::vector<protocol::MemoryEntry>;

// The best kHits entries that are not archives.
Entries notes_of(protocol::MemoryList list) {
  Entries notes;
  for (auto& entry : *list.mutable_entries()) {
    if (entry.kind() == "archive") continue;
    notes.push_back(std::move(entry));
    if (notes.size() == kHits) break;
  }
  return notes;
}

// Asks for more until there are enough notes or no more entries, because archives may stand before
// them.
Task<Entries> find_notes(Client& client, std::string agent, std::string words) {
  for (std::uint32_t asked = kEntriesAsked;; asked *= kEntriesGrowth) {
    protocol::ClientMessage message;
    auto& recall = *message.mutable_recall();
    recall.set_agent(agent);
    recall.set_query(words);
    recall.set_limit(asked);
    auto found = co_await client.memories(std::move(message));
    if (!found) co_return Entries();
    const bool all = static_cast<std::uint32_t>(found->entries_size()) < asked;
    auto notes = notes_of(*std::move(found));
    if (all || notes.size() == kHits) co_return notes;
  }
}

// Adds notes. A client sees all archives, also those of other people's conversations, so they are
// left out; from_sessions() adds what this sender may know of conversations, with their summaries.
Task<void> from_memory(Client& client, const Survey& who, const std::string& words,
                       std::string& into) {
  for (const auto& note : co_await find_notes(client, who.agent, words))
    add(into, fmt::format("memory '{}'", note.name()), note.content());
}

Task<void> from_sessions(Client& client, const Survey& who, const std::string& words,
                         std::string& into) {
  protocol::ClientMessage message;
  auto& search = *message.mutable_search_sessions();
  search.set_query(words);
  search.set_limit(kHits);
  search.set_context_before(0);
  search.set_context_after(0);
  search.set_exclude(who.id);
  search.set_agent(who.agent);
  search.set_sender(who.sender);
  const auto found =
      co_await client.request(std::move(message), Client::Repeat::safe, kAnswerPatience);
  if (!found) co_return;
  for (const auto& hit : found->search_results().hits())
    if (hit.hit() < static_cast<std::uint32_t>(hit.items_size())) {
      const auto& item = hit.items(static_cast<int>(hit.hit()));
      add(into, fmt::format("session {}, {}", hit.session().id(), item.role()), item.snippet());
    }
}

}  // namespace

Task<std::string> reminder_for(Client& client, const client::TurnRequest& turn, const Rules& node) {
  // When nobody wants recall, the daemon is not asked. An agent or session may want it without the
  // node.
  const auto who = co_await rules_for(client, turn, node);
  if (!who.rules.recall) co_return std::string();
  std::string found;
  co_await from_memory(client, who, turn.content, found);
  co_await from_sessions(client, who, turn.content, found);
  if (found.empty()) co_return std::string();
  co_return "<recall>\nFound by the user's words in memory and earlier conversations; it may not "
            "matter here.\n" +
      found + "</recall>";
}

}  // namespace reef::policy
