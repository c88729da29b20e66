#include "runtime/retell.h"

#include <algorithm>

#include "runtime/spent.h"

namespace reef::runtime {
namespace {

// The branch that goes on from an entry: the leaf's, when it holds it, else the latest one there
// was.
std::vector<const session::Entry*> branch_through(const session::Transcript& transcript,
                                                  std::size_t at) {
  const auto& entries = transcript.entries();
  const auto& parents = transcript.parents();
  std::vector<bool> behind(entries.size(), false);
  std::size_t last = at;
  behind[at] = true;
  for (auto i = at + 1; i < entries.size(); ++i)
    if (parents[i] < i && behind[parents[i]]) {
      behind[i] = true;
      last = i;
    }
  return transcript.branch(entries[last].id);
}

bool has_calls(const session::AssistantMessage& reply) {
  return std::any_of(reply.content.begin(), reply.content.end(), [](const auto& block) {
    return std::holds_alternative<session::ToolCallBlock>(block);
  });
}

class Teller {
 public:
  Teller(const session::SessionId& session, const std::string& agent) {
    end_.agent = agent;
    end_.session_id = session.text();
    out_.events.push_back(Start{agent});
  }

  // False when it belongs to what follows the turn.
  bool take(const session::Message& message) {
    if (std::holds_alternative<session::UserMessage>(message) && over_) {
      out_.last = false;
      return false;
    }
    if (const auto* reply = std::get_if<session::AssistantMessage>(&message)) take(*reply);
    if (const auto* result = std::get_if<session::ToolResultMessage>(&message)) {
      ToolResult event;
      event.call_id = result->tool_call_id;
      event.output = session::text_of(message);
      event.is_error = result->is_error;
      out_.events.push_back(std::move(event));
    }
    return true;
  }

  Retold finish(bool hidden, bool left) {
    if (left) out_.last = false;
    out_.answered = over_;
    out_.hidden = hidden;
    end_.hidden = hidden;
    out_.events.push_back(std::move(end_));
    return std::move(out_);
  }

 private:
  void take(const session::AssistantMessage& reply) {
    using session::StopReason;
    add(end_.usage, reply.usage);
    if (!reply.agent.empty()) end_.agent = reply.agent;
    end_.model = reply.provider.empty() ? reply.model : reply.provider + "/" + reply.model;
    const bool failed =
        reply.stop_reason == StopReason::error || reply.stop_reason == StopReason::aborted;
    const bool calls = !failed && has_calls(reply);
    over_ = !calls;
    end_.error.clear();
    if (failed) {
      const bool cancelled = reply.stop_reason == StopReason::aborted;
      end_.code = cancelled ? Errc::cancelled : Errc::provider;
      end_.error = reply.error_message.empty() ? "cancelled" : reply.error_message;
    }
    end_.silent = reply.hidden && over_ && !failed;
    if (const auto text = session::text_of(reply.content); !text.empty() && !reply.hidden) {
      out_.events.push_back(TextStart{end_.agent});
      out_.events.push_back(Chunk{text});
      out_.events.push_back(TextEnd{end_.agent});
    }
    if (!calls) return;
    ToolStart start;
    for (const auto& block : reply.content)
      if (const auto* call = std::get_if<session::ToolCallBlock>(&block))
        start.calls.push_back({call->id, call->name, json::write(call->arguments)});
    out_.events.push_back(std::move(start));
  }

  Retold out_;
  End end_;
  bool over_ = false;  // the last reply wanted nothing more
};

}  // namespace

std::optional<Retold> retell(const session::Transcript& transcript, const session::ClientMark& mark,
                             const session::SessionId& session, const std::string& agent) {
  const auto& entries = transcript.entries();
  std::size_t at = 0;
  const auto is_it = [&](const session::Entry& entry) {
    const auto marked = entry.type == "message" ? session::mark_of(entry.body) : std::nullopt;
    return marked && marked->mark == mark;
  };
  while (at < entries.size() && !is_it(entries[at])) ++at;
  if (at == entries.size()) return std::nullopt;
  Teller teller(session, agent);
  bool behind = false;
  const auto branch = branch_through(transcript, at);
  for (const auto* entry : branch) {
    if (behind) {
      const auto message = session::message_of(*entry);
      if (message && !teller.take(*message)) break;
    }
    behind = behind || entry == &entries[at];
  }
  return teller.finish(session::is_hidden(entries[at]), branch.back() != transcript.leaf());
}

}  // namespace reef::runtime
