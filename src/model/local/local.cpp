#include "model/local/local.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/notify.h"
#include "base/utf8.h"
#include "model/local/extract.h"
#include "model/local/found.h"
#include "model/local/intent.h"
#include "model/local/words.h"
#include "model/tokens.h"

namespace reef::model {
namespace {

constexpr std::size_t kQuoteChars = 300;
// How much of one message is looked at: an answer must not take longer because a file was pasted.
constexpr std::size_t kAskedBytesMax = 16U << 10;
constexpr std::size_t kRecentMax = 5;
constexpr std::size_t kQuotesMax = 3;
// Asked for: some are no use.
constexpr std::int64_t kPassagesMax = 12;
constexpr std::size_t kSummaryBytes = 1500;
constexpr std::size_t kNameWords = 5;
constexpr std::size_t kNameCharsMax = 60;

// In everything it says: nobody shall take it for more, and it never quotes itself.
constexpr std::string_view kMark = "Reef's local provider, not a language model";
constexpr std::string_view kWhatIAm =
    "I am Reef's local provider, not a language model: I answer only from what is written down in "
    "your conversations and my memory.";
constexpr std::string_view kSigned = "(Quoted by Reef's local provider, not a language model.)";

std::string quote(std::string_view text) {
  const auto line = utf8::single_line(text);
  const auto head = utf8::prefix_chars(line, kQuoteChars);
  return fmt::format("\"{}{}\"", head, head.size() < line.size() ? "..." : "");
}

struct Said {
  std::size_t number;  // of the user's message, from 1
  std::string text;
};

struct Result {
  std::string tool;
  std::string text;
  bool is_error = false;
};

// The conversation, cut where the message stands that is to be answered.
struct Talk {
  std::vector<Said> earlier;
  std::string asked;
  std::vector<Result> results;  // of the calls made for it
  std::vector<session::MessagePtr> before;
};

Talk read(const std::vector<session::MessagePtr>& messages) {
  Talk talk;
  std::size_t last = messages.size();
  std::size_t number = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!std::holds_alternative<session::UserMessage>(*messages[i])) continue;
    if (last < messages.size()) talk.earlier.push_back(Said{++number, std::move(talk.asked)});
    last = i;
    talk.asked = std::string(utf8::prefix(session::text_of(*messages[i]), kAskedBytesMax));
  }
  talk.before.assign(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(last));
  for (auto i = last; i < messages.size(); ++i)
    if (const auto* result = std::get_if<session::ToolResultMessage>(&*messages[i]))
      talk.results.push_back(
          Result{result->tool_name, session::text_of(result->content), result->is_error});
  return talk;
}

const Result* result_of(const Talk& talk, std::string_view tool) {
  const auto found = std::find_if(talk.results.begin(), talk.results.end(),
                                  [&](const auto& result) { return result.tool == tool; });
  return found == talk.results.end() ? nullptr : &*found;
}

std::string list_recent(const std::vector<Said>& earlier) {
  if (earlier.empty()) return "Nothing yet: this is the first message of the conversation.";
  const auto first = earlier.size() > kRecentMax ? earlier.size() - kRecentMax : 0;
  auto out =
      earlier.size() > kRecentMax
          ? fmt::format("You have written {} messages; the last {}:", earlier.size(), kRecentMax)
          : std::string("So far you have written:");
  for (auto i = first; i < earlier.size(); ++i)
    out += fmt::format("\n{}. {}", earlier[i].number, quote(earlier[i].text));
  return out;
}

// The user's earlier messages that share most words with the question, best first.
std::string quote_conversation(const std::vector<Said>& earlier,
                               const std::set<std::string>& asked) {
  Words words;
  std::vector<std::pair<std::size_t, const Said*>> scored;
  for (const auto& said : earlier) {
    // A question is not an answer to itself.
    const auto kind = intent_of(said.text).kind;
    if (kind == Intent::Kind::question || kind == Intent::Kind::forget) continue;
    if (const auto shared = words.shared(asked, said.text); shared > 0)
      scored.emplace_back(shared, &said);
  }
  if (scored.empty()) return {};
  // Ties go to the newer message: it may correct the older one.
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->number > b.second->number;
  });
  std::string out = "From this conversation:";
  for (std::size_t i = 0; i < std::min(scored.size(), kQuotesMax); ++i)
    out += fmt::format("\nmessage {}: {}", scored[i].second->number, quote(scored[i].second->text));
  return out;
}

// A passage that answers has a good part of the question's words near it.
bool answers(std::size_t shared, std::size_t asked) {
  return shared > 0 && shared * 5 >= asked * 2;
}

std::string quote_memory(const Result& result, const std::set<std::string>& asked) {
  if (result.is_error) return fmt::format("My memory could not be read: {}", result.text);
  Words words;
  std::string out;
  std::size_t count = 0;
  for (const auto& note : notes_in(result.text)) {
    if (count == kQuotesMax) break;
    if (!answers(words.shared(asked, note.name + " " + note.content), asked.size())) continue;
    out += fmt::format("\nnote '{}': {}", note.name, quote(note.content));
    ++count;
  }
  return out.empty() ? out : "From memory:" + out;
}

// Worth quoting: said by somebody, not by a tool or by this provider.
bool is_testimony(const Passage& passage) {
  if (passage.role != "user" && passage.role != "assistant" && passage.role != "summary")
    return false;
  if (passage.text.find(kMark) != std::string::npos) return false;
  const auto kind = intent_of(passage.text).kind;
  return passage.role != "user" || kind != Intent::Kind::forget;
}

std::string quote_sessions(const Result& result, const std::set<std::string>& asked) {
  if (result.is_error)
    return fmt::format("Earlier conversations could not be searched: {}", result.text);
  Words words;
  std::string out;
  std::set<std::string> quoted;
  for (const auto& passage : passages_in(result.text)) {
    if (quoted.size() == kQuotesMax) break;
    // To a question that was asked before, what followed is the answer.
    const bool with_next = !passage.next.empty() && is_question(passage.text) &&
                           passage.next.find(kMark) == std::string::npos;
    if (is_question(passage.text) && !with_next) continue;
    const auto shown = with_next ? passage.text + "\n" + passage.next : passage.text;
    if (!is_testimony(passage) || words.shared(asked, shown) == 0 ||
        !answers(words.shared(asked, passage.around), asked.size()) ||
        !quoted.insert(passage.text).second)
      continue;
    out += fmt::format("\n{}, session {}{}: {}", passage.date, passage.session,
                       passage.title.empty() ? "" : fmt::format(" ({})", passage.title),
                       quote(passage.text));
    if (with_next) out += fmt::format("\n  answered: {}", quote(passage.next));
  }
  return out.empty() ? out : "From earlier conversations:" + out;
}

// A short name for what is to be remembered: its first words that say something.
std::string name_for(std::string_view content) {
  Words words;
  std::string name;
  std::size_t count = 0;
  for (const auto& place : words.places(content)) {
    if (place.empty || count == kNameWords) continue;
    if (!name.empty()) name += ' ';
    name += utf8::lower_ascii(place.text);
    ++count;
  }
  if (name.empty()) name = utf8::single_line(content);
  return std::string(utf8::prefix_chars(name, kNameCharsMax));
}

class Answering {
 public:
  explicit Answering(const Request& request) : request_(request), talk_(read(request.messages)) {}

  LocalReply reply() {
    if (talk_.asked.empty() && talk_.before.empty()) return say(std::string(kWhatIAm));
    const auto intent = intent_of(talk_.asked);
    switch (intent.kind) {
      case Intent::Kind::greeting:
        return say(fmt::format("Hello! {} Tell me things, and ask me for them later.", kWhatIAm));
      case Intent::Kind::recap:
        return recap();
      case Intent::Kind::title:
        return title();
      case Intent::Kind::remember:
        return remember(intent.subject);
      case Intent::Kind::forget:
        return forget(intent.subject);
      case Intent::Kind::question:
        return answer(intent.subject);
      case Intent::Kind::statement:
        break;
    }
    return say(fmt::format("Noted as message {} and kept. {} Ask me for it later.",
                           talk_.earlier.size() + 1, kWhatIAm));
  }

 private:
  static LocalReply say(std::string text) { return {std::move(text), {}}; }

  bool has(std::string_view tool) const {
    return std::any_of(request_.tools.begin(), request_.tools.end(),
                       [&](const auto& offered) { return offered.name == tool; });
  }

  // Ids are unique within a conversation: nothing else follows so many messages.
  void call(LocalReply& reply, std::string_view tool, json::object arguments) const {
    reply.calls.push_back(session::ToolCallBlock{
        fmt::format("local_{}_{}", request_.messages.size(), reply.calls.size()), std::string(tool),
        std::move(arguments)});
  }

  LocalReply recap() const {
    auto text = list_recent(talk_.earlier);
    if (talk_.earlier.size() > kRecentMax)
      text += fmt::format("\n\nWhat says most:\n{}", summarise(talk_.before, kSummaryBytes));
    return say(fmt::format("{}\n\n{}", text, kSigned));
  }

  LocalReply title() const {
    const auto title = title_of(talk_.before);
    return say(title.empty() ? fmt::format("Nothing was said yet. {}", kWhatIAm) : title);
  }

  LocalReply remember(const std::string& subject) const {
    if (!has("remember"))
      return say(
          fmt::format("Noted as message {} and kept. {}", talk_.earlier.size() + 1, kWhatIAm));
    LocalReply reply;
    if (const auto* done = result_of(talk_, "remember"))
      return say(done->is_error
                     ? fmt::format("I could not remember it: {}. {}", done->text, kWhatIAm)
                     : fmt::format("I will remember: {}\n\n{}", quote(subject), kSigned));
    call(reply, "remember", {{"name", name_for(subject)}, {"content", subject}});
    return reply;
  }

  LocalReply forget(const std::string& subject) const {
    if (!has("forget") || !has("recall"))
      return say(fmt::format("I have no memory here to forget it from. {}", kWhatIAm));
    LocalReply reply;
    if (const auto* done = result_of(talk_, "forget"))
      return say(done->is_error
                     ? fmt::format("I could not forget it: {}. {}", done->text, kWhatIAm)
                     : fmt::format("Forgotten ({}). What was said in conversations stays "
                                   "there; `reef rm ID` removes one.\n\n{}",
                                   done->text, kSigned));
    const auto* recalled = result_of(talk_, "recall");
    if (!recalled) {
      call(reply, "recall", {{"query", subject}, {"limit", 1}});
      return reply;
    }
    Words words;
    const auto wanted = words.of(subject);
    const auto notes = recalled->is_error ? std::vector<Note>() : notes_in(recalled->text);
    if (notes.empty() ||
        !answers(words.shared(wanted, notes[0].name + " " + notes[0].content), wanted.size()))
      return say(fmt::format("I have no note about {}. {}", quote(subject), kWhatIAm));
    call(reply, "forget", {{"name", notes[0].name}});
    return reply;
  }

  LocalReply answer(const std::string& subject) const {
    LocalReply reply;
    if (talk_.results.empty()) {
      if (has("search_sessions"))
        call(reply, "search_sessions", {{"query", subject}, {"limit", kPassagesMax}});
      if (has("recall")) call(reply, "recall", {{"query", subject}});
      if (!reply.calls.empty()) return reply;
    }
    Words words;
    const auto asked = words.of(subject);
    std::vector<std::string> parts;
    parts.push_back(quote_conversation(talk_.earlier, asked));
    if (const auto* recalled = result_of(talk_, "recall"))
      parts.push_back(quote_memory(*recalled, asked));
    if (const auto* found = result_of(talk_, "search_sessions"))
      parts.push_back(quote_sessions(*found, asked));
    std::erase(parts, "");
    if (parts.empty())
      return say(fmt::format("Nothing {} answers that. {}",
                             has("search_sessions") ? "I know" : "in this conversation", kWhatIAm));
    return say(fmt::format("{}\n\n{}", fmt::join(parts, "\n\n"), kSigned));
  }

  const Request& request_;
  Talk talk_;
};

}  // namespace

LocalReply local_reply(const Request& request) {
  return Answering(request).reply();
}

Task<Outcome> LocalProvider::stream(const Request& request, const DeltaSink& sink) {
  auto said = local_reply(request);
  std::string_view rest = said.text;
  while (!rest.empty()) {
    auto end = rest.find(' ');
    end = end == std::string_view::npos ? rest.size() : end + 1;
    sink(Delta{Delta::Kind::text, std::string(rest.substr(0, end))});
    rest.remove_prefix(end);
    co_await yield_to_loop();
  }
  Reply reply;
  reply.message.usage.input = estimate_tokens(request);
  reply.message.usage.output = estimate_tokens(said.text);
  if (!said.text.empty()) reply.message.content.push_back(session::TextBlock{std::move(said.text)});
  for (auto& call : said.calls) {
    sink(Delta{Delta::Kind::tool_call, call.name});
    reply.message.stop_reason = session::StopReason::tool_use;
    reply.message.content.push_back(std::move(call));
  }
  co_return reply;
}

}  // namespace reef::model
