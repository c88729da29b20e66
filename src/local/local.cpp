#include "local/local.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/notify.h"
#include "base/utf8.h"
#include "local/extract.h"
#include "local/found.h"
#include "local/intent.h"
#include "local/notes.h"
#include "local/words.h"
#include "model/tokens.h"

namespace reef::local {
namespace {

constexpr std::size_t kQuoteChars = 300;
// How much of one message is used, so that a pasted file does not slow the answer down.
constexpr std::size_t kAskedBytesMax = 16U << 10;
constexpr std::size_t kRecentMax = 5;
constexpr std::size_t kQuotesMax = 3;
// More passages are requested than shown, because some are useless.
constexpr std::int64_t kPassagesMax = 12;
constexpr std::size_t kSummaryBytes = 1500;
// As many as `recall` gives, because the note that matters must not be missing.
constexpr std::int64_t kNotesMax = 20;
constexpr std::size_t kForgetTriesMax = 4;
// A longer text is not an alias that somebody gave a note.
constexpr std::size_t kAliasBytesMax = 60;

// Occurs in every answer, so that nobody takes it for a model and it never quotes itself.
constexpr std::string_view kMark = "Reef's local provider, not a language model";
constexpr std::string_view kWhatIAm =
    "I am Reef's local provider, not a language model: I answer only from what is written down in "
    "your conversations and my memory.";
constexpr std::string_view kSigned = "(Quoted by Reef's local provider, not a language model.)";

// The beginnings of the answers that end with the mark.
constexpr std::string_view kFromConversation = "From this conversation:";
constexpr std::string_view kFromMemory = "From memory:";
constexpr std::string_view kFromSessions = "From earlier conversations:";
constexpr std::string_view kNearest = "The nearest I found:";
constexpr std::string_view kSoFar = "So far you have written:";
constexpr std::string_view kForgotNothing = "I forgot nothing:";
constexpr std::array kOpenings = {kFromConversation, kFromMemory, kFromSessions,
                                  kNearest,          kSoFar,      kForgotNothing};

constexpr std::string_view kUser = "user";
constexpr std::string_view kAssistant = "assistant";

std::string quote(std::string_view text) {
  const auto line = utf8::single_line(text);
  const auto head = prefix_letters(line, kQuoteChars);
  return fmt::format("\"{}{}\"", head, head.size() < line.size() ? "..." : "");
}

struct Said {
  std::size_t number;  // number of the user's message, from 1
  std::string text;
};

struct ToolResult {
  std::string tool;
  std::string name;  // for a note: the name in the call
  std::string text;
  bool is_error = false;
};

// The conversation up to the message to be answered.
struct Talk {
  std::vector<Said> earlier;
  std::string asked;
  std::vector<ToolResult> results;  // of calls made for that message
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
  std::map<std::string, std::string> names;  // by id of the call
  for (auto i = last; i < messages.size(); ++i) {
    if (const auto* called = std::get_if<session::AssistantMessage>(&*messages[i]))
      for (const auto& block : called->content)
        if (const auto* call = std::get_if<session::ToolCallBlock>(&block))
          names[call->id] = std::string(json::find_string(call->arguments, "name").value_or(""));
    if (const auto* result = std::get_if<session::ToolResultMessage>(&*messages[i]))
      talk.results.push_back(ToolResult{result->tool_name, names[result->tool_call_id],
                                        session::text_of(result->content), result->is_error});
  }
  return talk;
}

const ToolResult* result_of(const Talk& talk, std::string_view tool) {
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
          : std::string(kSoFar);
  for (auto i = first; i < earlier.size(); ++i)
    out += fmt::format("\n{}. {}", earlier[i].number, quote(earlier[i].text));
  return out;
}

// A text that may answer the question.
struct Quote {
  enum class From : std::uint8_t { conversation, memory, sessions };
  From from;
  std::string line;
  std::set<std::string> shared;  // which of the question's words it has
};

// The text shares many of the question's words.
bool answers(const Quote& quote, std::size_t asked) {
  return quote.shared.size() * 5 >= asked * 2;
}

// The text shares few words, but hardly by chance: a single word of a long question occurs in half
// of all texts.
bool may_answer(const Quote& quote, std::size_t asked) {
  constexpr std::size_t kFewWords = 3;
  return quote.from == Quote::From::conversation || quote.shared.size() > 1 || asked <= kFewWords;
}

// Adds the user's earlier messages, those that share most words with the question first.
void add_conversation(const std::vector<Said>& earlier, const std::set<std::string>& asked,
                      std::vector<Quote>& out) {
  Words words;
  std::vector<std::pair<std::set<std::string>, const Said*>> found;
  for (const auto& said : earlier) {
    // A question does not answer itself.
    const auto kind = intent_of(said.text).kind;
    if (kind == Intent::Kind::question || kind == Intent::Kind::forget) continue;
    if (auto shared = words.shared(asked, said.text); !shared.empty())
      found.emplace_back(std::move(shared), &said);
  }
  // Ties go to the newer message, because it may correct the older one.
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size()
                                            : a.second->number > b.second->number;
  });
  for (auto& [shared, said] : found)
    out.push_back({Quote::From::conversation,
                   fmt::format("message {}: {}", said->number, quote(said->text)),
                   std::move(shared)});
}

void add_memory(const ToolResult& result, const std::set<std::string>& asked,
                std::vector<Quote>& out) {
  Words words;
  for (const auto& note : notes_in(result.text))
    if (auto shared = words.shared(asked, note.name + "\n" + note.content); !shared.empty())
      out.push_back({Quote::From::memory,
                     fmt::format("note '{}': {}", note.name, quote(note.content)),
                     std::move(shared)});
}

// True for text of this provider. Long answers are found cut, without the mark at the end.
bool is_ours(std::string_view text) {
  return text.find(kMark) != std::string_view::npos ||
         std::any_of(kOpenings.begin(), kOpenings.end(),
                     [&](std::string_view opening) { return text.starts_with(opening); });
}

// False for the input and output of tools.
bool is_spoken(const Passage::Line& line) {
  return line.role == kUser || line.role == kAssistant || line.role == "summary";
}

bool asks(const Passage::Line& line) {
  if (line.role != kUser) return is_question(line.text);
  const auto kind = intent_of(line.text).kind;
  return kind == Intent::Kind::question ||
         (kind != Intent::Kind::remember && is_question(line.text));
}

// Returns the answer to a line; nullptr when there is none or only one of this provider.
const Passage::Line* answer_to(const Passage& passage, std::size_t asked) {
  for (auto i = asked + 1; i < passage.lines.size(); ++i) {
    const auto& line = passage.lines[i];
    if (!is_spoken(line)) continue;
    return line.role == passage.lines[asked].role || is_ours(line.text) ? nullptr : &line;
  }
  return nullptr;
}

// True for lines worth quoting: not by a tool or this provider, and no question without an answer.
bool is_testimony(const Passage& passage, std::size_t at) {
  const auto& line = passage.lines[at];
  if (!is_spoken(line) || is_ours(line.text)) return false;
  if (line.role == kUser && intent_of(line.text).kind == Intent::Kind::forget) return false;
  return !asks(line) || answer_to(passage, at);
}

// Returns the line to quote: the matching one, or if that is useless, the line near it that shares
// most words. A search often finds an earlier question, with its answer after it.
std::optional<std::size_t> best_line(const Passage& passage, const std::set<std::string>& asked) {
  Words words;
  if (is_testimony(passage, passage.matched)) return passage.matched;
  std::optional<std::size_t> best;
  std::size_t most = 0;
  for (std::size_t i = 0; i < passage.lines.size(); ++i) {
    const auto shared = words.shared(asked, passage.lines[i].text).size();
    if (shared <= most || !is_testimony(passage, i)) continue;
    most = shared;
    best = i;
  }
  return best;
}

// Returns all lines worth quoting.
std::string testimony_of(const Passage& passage) {
  std::string out;
  for (std::size_t i = 0; i < passage.lines.size(); ++i)
    if (is_testimony(passage, i)) out += passage.lines[i].text + "\n";
  return out;
}

void add_sessions(const ToolResult& result, const std::set<std::string>& asked,
                  std::vector<Quote>& out) {
  Words words;
  std::set<std::string> quoted;
  for (const auto& passage : passages_in(result.text)) {
    const auto at = best_line(passage, asked);
    if (!at) continue;
    const auto& said = passage.lines[*at];
    const auto* answer = asks(said) ? answer_to(passage, *at) : nullptr;
    const auto shown = answer ? said.text + "\n" + answer->text : said.text;
    if (words.shared(asked, shown).empty() || !quoted.insert(said.text).second) continue;
    auto line = fmt::format("{}, session {}{}: {}", passage.date, passage.session,
                            passage.title.empty() ? "" : fmt::format(" ({})", passage.title),
                            quote(said.text));
    if (answer) line += fmt::format("\n  answered: {}", quote(answer->text));
    out.push_back(
        {Quote::From::sessions, std::move(line), words.shared(asked, testimony_of(passage))});
  }
}

std::string list_answers(const std::vector<Quote>& quotes, Quote::From from,
                         std::string_view heading, std::size_t asked) {
  std::string out;
  std::size_t count = 0;
  for (const auto& quote : quotes) {
    if (quote.from != from || count == kQuotesMax || !answers(quote, asked)) continue;
    out += "\n" + quote.line;
    ++count;
  }
  return out.empty() ? out : std::string(heading) + out;
}

// Used when nothing answers: lists the texts with the rarest of the question's words.
std::string list_nearest(std::vector<Quote> quotes, std::size_t asked) {
  std::map<std::string, double> held_by;
  for (const auto& quote : quotes)
    for (const auto& stem : quote.shared) ++held_by[stem];
  const auto worth = [&, all = double(quotes.size())](const Quote& quote) {
    double sum = 0;
    for (const auto& stem : quote.shared) sum += std::log1p(all / held_by[stem]);
    return sum;
  };
  std::erase_if(quotes, [&](const Quote& quote) { return !may_answer(quote, asked); });
  std::stable_sort(quotes.begin(), quotes.end(),
                   [&](const Quote& a, const Quote& b) { return worth(a) > worth(b); });
  std::string out;
  for (std::size_t i = 0; i < std::min(quotes.size(), kQuotesMax); ++i)
    out += "\n" + quotes[i].line;
  return out.empty() ? out : std::string(kNearest) + out;
}

class Answering {
 public:
  explicit Answering(const model::Request& request)
      : request_(request), talk_(read(request.messages)) {}

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
        return remember(intent);
      case Intent::Kind::forget:
        return forget(intent);
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

  // The number of messages makes the ids unique within a conversation.
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

  LocalReply remember(const Intent& intent) const {
    const auto& subject = intent.subject;
    if (intent.too_long)
      return say(
          fmt::format("That is too long for a note: I take at most {} bytes. I remember nothing of "
                      "it; it is kept in this conversation, as message {}. {}",
                      kCommandBytesMax, talk_.earlier.size() + 1, kWhatIAm));
    if (subject.empty())
      return say(fmt::format("What shall I remember? Say it in one message: remember that ... {}",
                             kWhatIAm));
    if (!has("remember"))
      return say(
          fmt::format("Noted as message {} and kept. {}", talk_.earlier.size() + 1, kWhatIAm));
    if (const auto* done = result_of(talk_, "remember"))
      return say(done->is_error
                     ? fmt::format("I could not remember it: {}. {}", done->text, kWhatIAm)
                     : fmt::format("I will remember: {}\n\n{}", quote(subject), kSigned));
    LocalReply reply;
    const auto* recalled = result_of(talk_, "recall");
    if (!recalled && has("recall")) {
      call(reply, "recall", {{"query", short_name(subject)}, {"limit", kNotesMax}});
      return reply;
    }
    const bool was_seen = recalled && !recalled->is_error;
    const auto there = was_seen ? notes_in(recalled->text) : std::vector<Note>();
    if (const auto name = was_seen ? name_of_content(recalled->text, subject) : std::string();
        !name.empty())
      return say(fmt::format("I remember that already, as note '{}': {}\n\n{}", name,
                             quote(subject), kSigned));
    const bool all_seen = was_seen && there.size() < static_cast<std::size_t>(kNotesMax);
    call(reply, "remember", {{"name", free_name(subject, there, all_seen)}, {"content", subject}});
    return reply;
  }

  LocalReply forget(const Intent& intent) const {
    if (!has("forget") || !has("recall"))
      return say(fmt::format("I have no memory here to forget it from. {}", kWhatIAm));
    std::set<std::string> refused;
    std::string why;
    for (const auto& result : talk_.results) {
      if (result.tool != "forget") continue;
      if (!result.is_error)
        return say(
            fmt::format("Forgotten ({}). What was said in conversations stays "
                        "there; `reef rm ID` removes one.\n\n{}",
                        result.text, kSigned));
      if (!is_kept(result.text) && !is_missing(result.text))
        return say(fmt::format("I could not forget it: {}. {}", result.text, kWhatIAm));
      refused.insert(result.name);
      if (is_kept(result.text)) why = result.text;
    }
    LocalReply reply;
    const auto* recalled = result_of(talk_, "recall");
    if (!recalled) {
      call(reply, "recall", {{"query", intent.subject}, {"limit", kNotesMax}});
      return reply;
    }
    if (recalled->is_error)
      return say(fmt::format("My memory could not be read: {}. {}", recalled->text, kWhatIAm));
    auto found = notes_in(recalled->text);
    const bool any = !found.empty();
    std::erase_if(found, [&](const Note& note) { return refused.contains(note.name); });
    const auto meant = meant_by(intent.subject, intent.exact, found);
    auto name = meant.note ? meant.note->name : std::string();
    // The subject may be an alias. Aliases are not shown, and they identify a note better than
    // words in its content. If several notes match by name, trying the alias could delete one of
    // them.
    if (meant.by != Meant::By::name)
      if (auto alias = intent.exact ? intent.subject : as_name(intent.subject);
          (any || intent.exact) && !alias.empty() && alias.size() <= kAliasBytesMax &&
          !refused.contains(alias))
        name = std::move(alias);
    if (name.empty() || refused.size() >= kForgetTriesMax)
      return say(not_forgotten(intent.subject, meant, why));
    call(reply, "forget", {{"name", name}});
    return reply;
  }

  static std::string not_forgotten(const std::string& subject, const Meant& meant,
                                   const std::string& why) {
    if (meant.nearest.empty())
      return why.empty() ? fmt::format("I have no note about {}. {}", quote(subject), kWhatIAm)
                         : fmt::format("I could not forget it: {}. {}", why, kWhatIAm);
    std::string out =
        meant.by == Meant::By::nothing
            ? fmt::format("{} no note is clearly about {}.", kForgotNothing, quote(subject))
            : fmt::format("{} {} may mean several notes.", kForgotNothing, quote(subject));
    out += " The nearest:";
    for (std::size_t i = 0; i < std::min(meant.nearest.size(), kQuotesMax); ++i)
      out +=
          fmt::format("\nnote '{}': {}", meant.nearest[i]->name, quote(meant.nearest[i]->content));
    const auto& first = meant.nearest.front()->name;
    out += fmt::format(
        "\nTo forget one, give its name in quotes: forget \"{}\". In a shell: reef memory forget "
        "\"{}\"\n\n{}",
        first, first, kSigned);
    return out;
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
    const auto asked = words.telling(subject);
    std::vector<std::string> failures;
    std::vector<Quote> quotes;
    add_conversation(talk_.earlier, asked, quotes);
    if (const auto* recalled = result_of(talk_, "recall")) {
      if (recalled->is_error)
        failures.push_back(fmt::format("My memory could not be read: {}", recalled->text));
      else
        add_memory(*recalled, asked, quotes);
    }
    if (const auto* found = result_of(talk_, "search_sessions")) {
      if (found->is_error)
        failures.push_back(
            fmt::format("Earlier conversations could not be searched: {}", found->text));
      else
        add_sessions(*found, asked, quotes);
    }
    using From = Quote::From;
    std::vector<std::string> parts = {
        list_answers(quotes, From::conversation, kFromConversation, asked.size()),
        list_answers(quotes, From::memory, kFromMemory, asked.size()),
        list_answers(quotes, From::sessions, kFromSessions, asked.size())};
    std::erase(parts, "");
    if (parts.empty()) parts.push_back(list_nearest(std::move(quotes), asked.size()));
    parts.insert(parts.end(), failures.begin(), failures.end());
    std::erase(parts, "");
    if (parts.empty())
      return say(fmt::format("Nothing {} answers that. {}",
                             has("search_sessions") ? "I know" : "in this conversation", kWhatIAm));
    return say(fmt::format("{}\n\n{}", fmt::join(parts, "\n\n"), kSigned));
  }

  const model::Request& request_;
  Talk talk_;
};

}  // namespace

LocalReply local_reply(const model::Request& request) {
  return Answering(request).reply();
}

Task<model::Outcome> LocalProvider::stream(const model::Request& request,
                                           const model::DeltaSink& sink) {
  using model::Delta;
  auto said = local_reply(request);
  std::string_view rest = said.text;
  while (!rest.empty()) {
    auto end = rest.find(' ');
    end = end == std::string_view::npos ? rest.size() : end + 1;
    sink(Delta{Delta::Kind::text, std::string(rest.substr(0, end))});
    rest.remove_prefix(end);
    co_await yield_to_loop();
  }
  model::Reply reply;
  reply.message.usage.estimated = true;
  reply.message.usage.input = model::estimate_tokens(request);
  reply.message.usage.output = model::estimate_tokens(said.text);
  if (!said.text.empty()) reply.message.content.push_back(session::TextBlock{std::move(said.text)});
  for (auto& call : said.calls) {
    sink(Delta{Delta::Kind::tool_call, call.name});
    reply.message.stop_reason = session::StopReason::tool_use;
    reply.message.content.push_back(std::move(call));
  }
  co_return reply;
}

}  // namespace reef::local
