#include "session/context.h"

#include <fmt/format.h>

#include "base/overload.h"

namespace reef::session {
namespace {

// The place of the last compaction in the branch; the branch's size without one.
std::size_t last_compaction(std::span<const Entry* const> branch) {
  for (std::size_t i = branch.size(); i > 0; --i)
    if (branch[i - 1]->type == "compaction") return i - 1;
  return branch.size();
}

// Where the kept part before a compaction begins; `compaction` itself when nothing is kept.
std::size_t kept_from(std::span<const Entry* const> branch, std::size_t compaction) {
  const auto wanted = first_kept(*branch[compaction]);
  if (wanted == branch[compaction]->id.text) return compaction;
  for (std::size_t i = compaction; i > 0; --i)
    if (branch[i - 1]->id.text == wanted) return i - 1;
  return compaction;
}

// The message that an entry gives to a model; null when it gives none.
MessagePtr emitted(const Entry& entry) {
  if (entry.type == "message") {
    auto message = message_of(entry);
    return message ? std::make_shared<const Message>(*std::move(message)) : nullptr;
  }
  if (entry.type == "custom_message") {
    auto raw = entry.body;
    raw["role"] = "custom";
    return std::make_shared<const Message>(
        CustomMessage{std::string(json::find_string(entry.body, "customType").value_or("")),
                      content_from_json(entry.body), std::move(raw)});
  }
  if (entry.type == "branch_summary") {
    const auto summary = json::find_string(entry.body, "summary").value_or("");
    if (summary.empty()) return nullptr;
    return std::make_shared<const Message>(
        SummaryMessage{SummaryMessage::Kind::branch, std::string(summary), entry.time});
  }
  return nullptr;
}

void note_settings(Context& context, const Entry& entry) {
  if (entry.type == "model_change") {
    context.model = ModelChoice{std::string(json::find_string(entry.body, "provider").value_or("")),
                                std::string(json::find_string(entry.body, "modelId").value_or(""))};
  } else if (entry.type == "thinking_level_change") {
    context.thinking_level =
        std::string(json::find_string(entry.body, "thinkingLevel").value_or("off"));
  } else if (entry.type == "message") {
    const auto* message = json::find_object(entry.body, "message");
    if (message && json::find_string(*message, "role") == "assistant")
      context.model = ModelChoice{std::string(json::find_string(*message, "provider").value_or("")),
                                  std::string(json::find_string(*message, "model").value_or(""))};
  }
}

// The last edit of a target wins: null drops it, an object replaces its content.
void apply_edits(Context& context, std::span<const Entry* const> branch) {
  for (const auto* entry : branch) {
    if (entry->type != "context_edit") continue;
    const auto target = json::find_string(entry->body, "targetId").value_or("");
    const auto* replacement = entry->body.if_contains("replacement");
    if (!replacement) continue;
    for (auto& item : context.items) {
      if (item.id.text != target || !item.message) continue;
      if (const auto* fields = replacement->if_object()) {
        auto raw = to_json(*item.message);
        if (const auto* content = fields->if_contains("content")) raw["content"] = *content;
        auto edited = message_from_json(raw);
        if (auto* reply = std::get_if<AssistantMessage>(&edited)) {
          reply->agent = std::get<AssistantMessage>(*item.message).agent;
          reply->hidden = is_hidden(*item.message);
        } else if (auto* words = std::get_if<UserMessage>(&edited)) {
          words->hidden = is_hidden(*item.message);
        } else if (auto* result = std::get_if<ToolResultMessage>(&edited)) {
          result->hidden = is_hidden(*item.message);
        }
        item.message = std::make_shared<const Message>(std::move(edited));
      } else {
        item.message = nullptr;
      }
    }
  }
  std::erase_if(context.items, [](const ContextItem& item) { return !item.message; });
}

MessagePtr as_user(std::string text, TimePoint time) {
  UserMessage message;
  message.content.push_back(TextBlock{std::move(text)});
  message.time = time;
  return std::make_shared<const Message>(std::move(message));
}

std::string attribute(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"') {
      out += "&quot;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// A guest's reply with its name around it. Its thoughts and signatures are for itself alone.
MessagePtr tagged(const AssistantMessage& reply) {
  auto out = reply;
  out.agent.clear();  // the tag names it now
  out.content.clear();
  if (const auto text = text_of(reply.content); !text.empty())
    out.content.push_back(
        TextBlock{fmt::format("<from agent=\"{}\">\n{}\n</from>", attribute(reply.agent), text)});
  for (const auto& block : reply.content)
    if (!std::holds_alternative<TextBlock>(block) && !std::holds_alternative<ThinkingBlock>(block))
      out.content.push_back(block);
  if (out.content.empty()) return nullptr;
  return std::make_shared<const Message>(std::move(out));
}

// The part of a reply that was seen before it was cancelled; null when that is nothing. The
// transcript keeps the reply as pi writes it, so the mark is made here.
MessagePtr interrupted(const AssistantMessage& reply) {
  constexpr std::string_view kMark = "[This answer was interrupted here.]";
  const auto seen = text_of(reply.content);
  if (reply.hidden || seen.find_first_not_of(" \t\r\n") == std::string::npos) return nullptr;
  AssistantMessage out;
  out.content.push_back(TextBlock{fmt::format("{}\n\n{}", seen, kMark)});
  out.api = reply.api;
  out.provider = reply.provider;
  out.model = reply.model;
  out.time = reply.time;
  out.agent = reply.agent;
  return out.agent.empty() ? std::make_shared<const Message>(std::move(out)) : tagged(out);
}

std::string bash_text(const BashMessage& bash) {
  auto text = fmt::format("I ran `{}`.\n", bash.command);
  text += bash.output.empty() ? std::string("It printed nothing.")
                              : fmt::format("```\n{}\n```", bash.output);
  if (bash.cancelled) {
    text += "\nThe command was cancelled.";
  } else if (bash.exit_code.value_or(0) != 0) {
    text += fmt::format("\nIt exited with code {}.", *bash.exit_code);
  }
  if (bash.truncated && !bash.full_output_path.empty())
    text += fmt::format("\nThe whole output is in {}.", bash.full_output_path);
  return text;
}

std::string summary_text(const SummaryMessage& summary) {
  const auto* intro = summary.kind == SummaryMessage::Kind::compaction
                          ? "What was said before this point, in summary:"
                          : "What happened on another branch of this conversation, in summary:";
  return fmt::format("{}\n\n<summary>\n{}\n</summary>", intro, summary.summary);
}

}  // namespace

std::string_view first_kept(const Entry& compaction) {
  return json::find_string(compaction.body, "firstKeptEntryId").value_or(compaction.id.text);
}

std::size_t unneeded_prefix(std::span<const Entry* const> branch) {
  const auto compaction = last_compaction(branch);
  return compaction == branch.size() ? 0 : kept_from(branch, compaction);
}

Context build_context(std::span<const Entry* const> branch) {
  Context context;
  for (const auto* entry : branch) note_settings(context, *entry);
  const auto add = [&](const Entry& entry) {
    if (auto message = emitted(entry))
      context.items.push_back(ContextItem{entry.id, std::move(message)});
  };

  const auto compaction = last_compaction(branch);
  if (compaction == branch.size()) {
    for (const auto* entry : branch) add(*entry);
  } else {
    const auto& entry = *branch[compaction];
    const auto summary = json::find_string(entry.body, "summary").value_or("");
    context.items.push_back(ContextItem{
        entry.id, std::make_shared<const Message>(SummaryMessage{
                      SummaryMessage::Kind::compaction, std::string(summary), entry.time})});
    // A checkpoint of the system prompt replaces the system messages among what is kept.
    const bool checkpoint = entry.body.contains("systemMessage");
    for (std::size_t i = kept_from(branch, compaction); i < compaction; ++i) {
      const auto* message = json::find_object(branch[i]->body, "message");
      if (checkpoint && message && json::find_string(*message, "role") == "system") continue;
      add(*branch[i]);
    }
    for (std::size_t i = compaction + 1; i < branch.size(); ++i) add(*branch[i]);
  }
  // Edits that stand among the replaced entries are gone with them.
  apply_edits(context, branch.subspan(unneeded_prefix(branch)));
  return context;
}

bool extend_context(Context& context, const Entry& entry) {
  if (entry.type == "compaction" || entry.type == "context_edit") return false;
  note_settings(context, entry);
  if (auto message = emitted(entry))
    context.items.push_back(ContextItem{entry.id, std::move(message)});
  return true;
}

MessagePtr for_model(const MessagePtr& message) {
  return std::visit(Overload{
                        [&](const UserMessage&) { return message; },
                        [&](const ToolResultMessage&) { return message; },
                        [&](const AssistantMessage& m) {
                          if (m.stop_reason == StopReason::error) return MessagePtr();
                          if (m.stop_reason == StopReason::aborted) return interrupted(m);
                          return m.agent.empty() ? message : tagged(m);
                        },
                        [](const BashMessage& m) {
                          return m.exclude_from_context ? MessagePtr()
                                                        : as_user(bash_text(m), TimePoint());
                        },
                        [](const CustomMessage& m) -> MessagePtr {
                          UserMessage user;
                          user.content = m.content;
                          return std::make_shared<const Message>(std::move(user));
                        },
                        [](const SummaryMessage& m) { return as_user(summary_text(m), m.time); },
                        [](const OtherMessage&) { return MessagePtr(); },
                    },
                    *message);
}

std::vector<MessagePtr> for_model(const Context& context) {
  std::vector<MessagePtr> out;
  out.reserve(context.items.size());
  for (const auto& item : context.items)
    if (auto message = for_model(item.message)) out.push_back(std::move(message));
  return out;
}

}  // namespace reef::session
