#include "turn_view.h"

#include <cstdio>
#include <deque>
#include <iostream>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "context.h"
#include "session_view.h"

namespace reef::cli {
namespace {

constexpr std::size_t kProgressLines = 5;
constexpr std::size_t kShownBytes = 100;

std::size_t terminal_width() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

void dim_line(const std::string& text) {
  fmt::print(stderr, "\x1b[2m{}\x1b[0m\n", utf8::visible(text));
}

// The last lines of a tool's output, rewritten in place until something else is shown.
class ProgressLines {
 public:
  void add(const std::string& text) {
    for (const char byte : text) {
      if (byte == '\n') {
        lines_.emplace_back();
      } else {
        if (lines_.empty()) lines_.emplace_back();
        lines_.back() += byte;
      }
    }
    while (lines_.size() > kProgressLines + 1) lines_.pop_front();
    draw();
  }
  void clear() {
    erase();
    lines_.clear();
    std::fflush(stderr);
  }

 private:
  void erase() {
    if (drawn_ > 0) fmt::print(stderr, "\x1b[{}F\x1b[J", drawn_);
    drawn_ = 0;
  }
  void draw() {
    erase();
    const auto width = terminal_width() - 3;
    for (const auto& line : lines_) {
      if (line.empty()) continue;
      const auto shown = utf8::single_line(utf8::visible(line));
      dim_line(fmt::format("  {}", utf8::prefix_chars(shown, width)));
      ++drawn_;
    }
    std::fflush(stderr);
  }

  std::deque<std::string> lines_;
  std::size_t drawn_ = 0;
};

// "bash ls -la": the tool and its first argument that is a text.
std::string shown_call(const protocol::ToolCallInfo& call) {
  auto out = utf8::excerpt(call.name());
  const auto parsed = json::parse(call.arguments());
  const auto* arguments = parsed ? parsed->if_object() : nullptr;
  if (!arguments) return out;
  for (const auto& argument : *arguments)
    if (const auto* text = argument.value().if_string())
      return out + " " + utf8::excerpt(std::string_view(*text), kShownBytes);
  return out;
}

std::string shown_result(const protocol::ToolResult& result) {
  std::string_view text = result.output();
  const auto first = text.substr(0, text.find('\n'));
  auto out = fmt::format("  {} {}", result.is_error() ? "failed:" : "->",
                         utf8::excerpt(first, kShownBytes));
  if (first.size() < text.size()) {
    const auto lines = std::count(text.begin(), text.end(), '\n') + (text.ends_with('\n') ? 0 : 1);
    if (lines > 1) out += fmt::format(" ({} lines)", lines);
  }
  if (result.duration_ms() >= 1000)
    out += fmt::format(" {:.1f} s", double(result.duration_ms()) / 1000);
  return out;
}

class TurnView {
 public:
  TurnView(bool live, bool verbose) : live_(live), verbose_(verbose) {}

  void take(const protocol::StreamEvent& event) {
    if (person_ && !event.has_tool_progress()) progress_.clear();
    if (event.has_chunk()) {
      say(event.chunk().content());
    } else if (event.has_tool_start()) {
      end_line();
      if (person_)
        for (const auto& call : event.tool_start().calls())
          dim_line(fmt::format("[{}]", shown_call(call)));
    } else if (event.has_tool_progress()) {
      if (person_) progress_.add(event.tool_progress().output());
    } else if (event.has_tool_result()) {
      if (person_) dim_line(shown_result(event.tool_result()));
    } else if (event.has_user_steered()) {
      end_line();
      if (person_)
        dim_line(
            fmt::format("you: {}", utf8::excerpt(event.user_steered().content(), kShownBytes)));
    } else if (event.has_context_usage()) {
      turn_.context = event.context_usage();
    } else if (event.has_end()) {
      turn_.end = event.end();
      if (live_ && !turn_.reply.empty()) print_line("");
      if (person_) tell_end();
    }
  }
  // Ends the line of what was said before.
  void end_line() {
    if (turn_.reply.empty() || turn_.reply.ends_with('\n')) return;
    turn_.reply += '\n';
    if (live_) print_line("");
    std::fflush(stdout);
  }
  TurnEnd& turn() { return turn_; }

 private:
  void tell_end() {
    std::fflush(stdout);
    if (turn_.end.silent()) dim_line("(no reply)");
    if (turn_.end.compacted())
      dim_line("(the context was too long: it was compacted, and the model asked again)");
    if (verbose_ && turn_.context) dim_line(fmt::format("({})", shown_usage(*turn_.context)));
  }
  void say(const std::string& text) {
    turn_.reply += text;
    if (!live_) return;
    output_.write(text);
    std::fflush(stdout);
  }

  const bool live_;
  const bool verbose_;
  Output output_;
  const bool person_ = live_ && ::isatty(STDERR_FILENO) == 1;
  TurnEnd turn_;
  ProgressLines progress_;
};

void tell_how_to_answer(const protocol::AskUser& ask) {
  for (const auto& question : ask.questions())
    for (const auto& line : lines_of(question)) fmt::print(stderr, "{}\n", line);
  fmt::print(stderr, "Answer with: reef answer {} TEXT\n", utf8::excerpt(ask.id()));
}

// A single answer as it is typed, several as a list.
std::optional<std::string> typed_answers(const protocol::AskUser& ask, const Prompt& prompt) {
  json::array all;
  for (const auto& question : ask.questions()) {
    auto text = prompt(question);
    if (!text) return std::nullopt;
    if (ask.questions_size() == 1) return text;
    all.emplace_back(*text);
  }
  return json::write(all);
}

Task<void> answer(client::Client& client, const protocol::AskUser& ask, const Prompt& prompt) {
  const auto text = prompt ? typed_answers(ask, prompt) : std::nullopt;
  if (!text) {
    tell_how_to_answer(ask);
    co_return;
  }
  protocol::ClientMessage message;
  message.mutable_reply_to_ask()->set_id(ask.id());
  message.mutable_reply_to_ask()->set_content(utf8::sanitize(*text));
  const auto answered = co_await client.request(std::move(message), client::Client::Repeat::never,
                                                std::chrono::seconds(30));
  if (!answered) report("answer", answered.error());
}

}  // namespace

std::vector<std::string> lines_of(const protocol::AskQuestion& question) {
  std::vector<std::string> out;
  const auto shown = [](const std::string& text) { return utf8::visible(text); };
  const auto header = utf8::single_line(shown(question.header()));
  out.push_back((header.empty() ? "" : header + ": ") + shown(question.question()));
  for (int i = 0; i < question.options_size(); ++i) {
    const auto& option = question.options(i);
    const auto description = utf8::single_line(shown(option.description()));
    out.push_back(fmt::format("  {}. {}{}", i + 1, utf8::single_line(shown(option.label())),
                              description.empty() ? "" : " - " + description));
  }
  if (question.options_size() > 0)
    out.push_back(question.multi_select() ? "Numbers with commas, or your own words."
                                          : "A number, or your own words.");
  return out;
}

Task<Result<TurnEnd>> watch_turn(client::Client& client, client::Stream stream, bool live,
                                 const Prompt& prompt, bool verbose) {
  TurnView view(live, verbose);
  for (;;) {
    REEF_CO_TRY(auto message, co_await stream.next());
    if (!message) break;
    if (!message->has_stream()) continue;
    view.take(message->stream());
    if (message->stream().has_ask_user()) {
      view.end_line();
      co_await answer(client, message->stream().ask_user(), prompt);
    }
  }
  co_return std::move(view.turn());
}

json::object turn_json(const TurnEnd& turn, const std::string& sender) {
  const auto& end = turn.end;
  const auto& usage = end.usage();
  return json::object{
      {"agent", end.agent()},
      {"sender", sender.empty() ? "user" : sender},
      {"session", end.session_id()},
      {"model", end.model()},
      {"reply", turn.reply},
      {"usage", json::object{{"promptTokens", usage.prompt_tokens()},
                             {"completionTokens", usage.completion_tokens()},
                             {"totalTokens", usage.total_tokens()},
                             {"estimated", usage.estimated()}}},
      {"silent", end.silent()},
      {"compacted", end.compacted()},
      {"context", turn.context ? json::value(to_json(*turn.context)) : json::value(nullptr)},
      {"error", end.error().empty() ? json::value(nullptr) : json::value(end.error())},
  };
}

Prompt terminal_prompt() {
  if (::isatty(STDIN_FILENO) != 1) return {};
  return [](const protocol::AskQuestion& question) -> std::optional<std::string> {
    for (const auto& line : lines_of(question)) fmt::print(stderr, "{}\n", line);
    for (;;) {
      fmt::print(stderr, "? ");
      std::fflush(stderr);
      std::string text;
      if (!std::getline(std::cin, text)) {
        std::cin.clear();
        return std::nullopt;
      }
      if (!utf8::single_line(text).empty()) return text;
    }
  };
}

}  // namespace reef::cli
