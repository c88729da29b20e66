#include "hooks/ask_user/ask_user_hook.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/description.h"

namespace reef::hooks {
namespace {

using runtime::Question;
using runtime::ToolAnswer;
using runtime::UserAnswer;
using Type = Parameter::Type;

constexpr std::size_t kQuestionsMax = 10;
constexpr std::size_t kOptionsMax = 20;
// The limit for a question and for an option, because somebody has to read them.
constexpr std::size_t kTextBytesMax = 4096;

const Description kAskUser{
    "ask_user",
    "Ask the user one or more questions and wait for the answers. All are shown at once.",
    {{.name = "questions",
      .type = Type::objects,
      .description = "What to ask.",
      .required = true,
      .fields = {
          {.name = "question", .description = "The whole question.", .required = true},
          {.name = "header", .description = "A word or two to show above it."},
          {.name = "options",
           .type = Type::objects,
           .description = "Answers to choose from; the user may always answer in other words.",
           .fields = {{.name = "label", .description = "The answer, short.", .required = true},
                      {.name = "description", .description = "What choosing it means."}}},
          {.name = "multi_select",
           .type = Type::boolean,
           .description = "Whether several options may be chosen."}}}}};

std::string short_text(const json::object& in, std::string_view name) {
  return std::string(utf8::prefix(text_of(in, name), kTextBytesMax));
}

Result<std::vector<Question>> questions_from(const json::object& arguments) {
  REEF_CHECK(check(kAskUser, arguments));
  const auto& list = *json::find_array(arguments, "questions");
  if (list.empty() || list.size() > kQuestionsMax)
    return Error(
        Errc::invalid,
        fmt::format("invalid arguments: 'questions' must be 1 to {} of them", kQuestionsMax));
  std::vector<Question> out;
  for (const auto& item : list) {
    const auto& in = item.get_object();
    Question question;
    question.text = short_text(in, "question");
    question.header = short_text(in, "header");
    question.multi_select = flag_of(in, "multi_select");
    if (const auto* options = json::find_array(in, "options"))
      for (const auto& option : *options)
        question.options.push_back({short_text(option.get_object(), "label"),
                                    short_text(option.get_object(), "description")});
    if (question.text.empty())
      return Error(Errc::invalid,
                   fmt::format("invalid arguments: 'questions[{}].question' is empty", out.size()));
    if (question.options.size() > kOptionsMax)
      return Error(Errc::invalid, fmt::format("invalid arguments: 'questions[{}].options' has more "
                                              "than {}",
                                              out.size(), kOptionsMax));
    out.push_back(std::move(question));
  }
  return out;
}

std::string joined(const UserAnswer& answer) {
  std::string out;
  for (const auto& words : answer) out += (out.empty() ? "" : ", ") + words;
  return out;
}

// A single answer is given as it is; several are given with their questions.
std::string told(const std::vector<Question>& questions, const std::vector<UserAnswer>& answers) {
  if (questions.size() == 1) return joined(answers.at(0));
  std::string out;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (!out.empty()) out += "\n";
    const auto answer = joined(answers.at(i));
    out +=
        fmt::format("{}: {}", questions[i].header.empty() ? questions[i].text : questions[i].header,
                    answer.empty() ? "(not answered)" : answer);
  }
  return out;
}

std::string headers(const std::vector<Question>& questions) {
  std::string out;
  for (const auto& question : questions)
    out += (out.empty() ? "" : "; ") + (question.header.empty() ? question.text : question.header);
  return out;
}

}  // namespace

std::vector<model::Tool> AskUserHook::tools(const runtime::Agent&) const {
  return {tool_from(kAskUser)};
}

std::string AskUserHook::prompt(const runtime::Agent&) const {
  return {};
}

runtime::Intent AskUserHook::intent(const std::string&, const json::object&,
                                    const runtime::Caller&) const {
  return {runtime::Intent::Effect::reads};
}

Task<ToolAnswer> AskUserHook::call(std::string, json::object arguments, runtime::Caller caller) {
  auto questions = questions_from(arguments);
  if (!questions) co_return failed(questions.error().what);
  runtime::Ask ask;
  ask.questions = *questions;
  const auto answers = co_await caller.ask(std::move(ask));
  if (answers) co_return ToolAnswer{told(*questions, *answers)};
  if (answers.error().code == Errc::timeout)
    co_return failed(
        fmt::format("ask_user timed out: no reply received for: {}", headers(*questions)));
  co_return failed(answers.error().what);
}

}  // namespace reef::hooks
