#include "runtime/question.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace reef::runtime {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(at), text.size());
    if (const auto part = trim(text.substr(0, end)); !part.empty()) out.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The option meant by somebody who answers a permission in words of their own.
const Question::Option* meant(const std::vector<Question::Option>& options, std::string_view word) {
  constexpr std::array<std::string_view, 6> kYes = {"yes", "y", "allow", "ok", "okay", "once"};
  constexpr std::array<std::string_view, 5> kNo = {"no", "n", "deny", "reject", "never"};
  if (is_one_of(word, kYes)) return &options.front();
  if (is_one_of(word, kNo)) return &options.back();
  if (word != "always" && word != "a") return nullptr;
  for (const auto& option : options)
    if (utf8::lower_ascii(option.label).find("always") != std::string::npos) return &option;
  return nullptr;
}

// Returns the label of the option that these words name.
std::optional<std::string> label_for(const Question& question, Ask::Kind kind,
                                     std::string_view words) {
  const auto& options = question.options;
  const auto wanted = utf8::lower_ascii(words);
  for (const auto& option : options)
    if (utf8::lower_ascii(trim(option.label)) == wanted) return option.label;
  std::size_t number = 0;
  const auto [end, bad] = std::from_chars(words.data(), words.data() + words.size(), number);
  if (bad == std::errc() && end == words.data() + words.size() && number >= 1 &&
      number <= options.size())
    return options[number - 1].label;
  if (kind != Ask::Kind::question && !options.empty())
    if (const auto* option = meant(options, wanted)) return option->label;
  return std::nullopt;
}

UserAnswer answer_in_words(const Question& question, Ask::Kind kind, std::string_view text) {
  const auto words = trim(text);
  if (words.empty()) return {};
  if (auto label = label_for(question, kind, words)) return {*std::move(label)};
  if (question.multi_select) {
    // "1, 3": a list only when all of it names options; a sentence has commas too.
    UserAnswer chosen;
    const auto parts = split(words, ',');
    for (const auto part : parts)
      if (auto label = label_for(question, kind, part)) chosen.push_back(*std::move(label));
    if (chosen.size() == parts.size()) return chosen;
  }
  return {std::string(words)};
}

bool is_answer(const json::value& value) {
  const auto* list = value.if_array();
  return value.is_string() || (list && std::all_of(list->begin(), list->end(),
                                                   [](const auto& v) { return v.is_string(); }));
}

UserAnswer answer_in_json(const Question& question, Ask::Kind kind, const json::value& value) {
  UserAnswer out;
  const auto add = [&](std::string_view text) {
    for (auto& words : answer_in_words(question, kind, text)) out.push_back(std::move(words));
  };
  if (const auto* text = value.if_string()) add(*text);
  if (const auto* list = value.if_array())
    for (const auto& item : *list) add(item.get_string());
  return out;
}

// nullopt when it does not have this form: then it is plain words that begin with a brace.
std::optional<std::vector<UserAnswer>> from_object(const Ask& ask, const json::object& in) {
  std::vector<UserAnswer> out(ask.questions.size());
  for (const auto& member : in) {
    const auto found =
        std::find_if(ask.questions.begin(), ask.questions.end(), [&](const Question& question) {
          return question.text == member.key() || question.header == member.key();
        });
    if (found == ask.questions.end() || !is_answer(member.value())) return std::nullopt;
    out[static_cast<std::size_t>(found - ask.questions.begin())] =
        answer_in_json(*found, ask.kind, member.value());
  }
  return out;
}

std::optional<std::vector<UserAnswer>> from_array(const Ask& ask, const json::array& in) {
  if (!std::all_of(in.begin(), in.end(), is_answer)) return std::nullopt;
  // For a single question, a flat list holds the chosen options.
  if (ask.questions.size() == 1 &&
      std::all_of(in.begin(), in.end(), [](const auto& item) { return item.is_string(); }))
    return std::vector<UserAnswer>{answer_in_json(ask.questions[0], ask.kind, in)};
  if (in.size() != ask.questions.size()) return std::nullopt;
  std::vector<UserAnswer> out;
  for (std::size_t i = 0; i < in.size(); ++i)
    out.push_back(answer_in_json(ask.questions[i], ask.kind, in[i]));
  return out;
}

std::vector<UserAnswer> from_words(const Ask& ask, std::string_view content) {
  std::vector<UserAnswer> out(ask.questions.size());
  const auto lines = split(content, '\n');
  if (ask.questions.size() > 1 && lines.size() == ask.questions.size()) {
    for (std::size_t i = 0; i < lines.size(); ++i)
      out[i] = answer_in_words(ask.questions[i], ask.kind, lines[i]);
  } else if (!out.empty()) {
    out[0] = answer_in_words(ask.questions[0], ask.kind, content);
  }
  return out;
}

}  // namespace

namespace {

constexpr std::pair<Ask::Kind, std::string_view> kKinds[] = {
    {Ask::Kind::question, "question"},
    {Ask::Kind::permission, "permission"},
    {Ask::Kind::plan, "plan"},
    {Ask::Kind::failed, "failed"},
};

}  // namespace

std::string_view name_of(Ask::Kind kind) {
  for (const auto& [value, name] : kKinds)
    if (value == kind) return name;
  return "question";
}

std::optional<Ask::Kind> ask_kind_from(std::string_view name) {
  for (const auto& [value, known] : kKinds)
    if (known == name) return value;
  return std::nullopt;
}

bool same_words(const Ask& a, const Ask& b) {
  return a.kind == b.kind && to_json(a.questions) == to_json(b.questions);
}

json::array to_json(const std::vector<Question>& questions) {
  json::array out;
  for (const auto& question : questions) {
    json::array options;
    for (const auto& option : question.options)
      options.push_back(json::object{{"label", option.label}, {"description", option.description}});
    out.push_back(json::object{{"question", question.text},
                               {"header", question.header},
                               {"options", std::move(options)},
                               {"multiSelect", question.multi_select}});
  }
  return out;
}

std::vector<Question> questions_from(const json::array& in) {
  const auto text = [](const json::object& from, std::string_view name) {
    return std::string(json::find_string(from, name).value_or(""));
  };
  std::vector<Question> out;
  for (const auto& item : in) {
    const auto* one = item.if_object();
    if (!one) continue;
    Question question;
    question.text = text(*one, "question");
    question.header = text(*one, "header");
    question.multi_select = json::find_bool(*one, "multiSelect").value_or(false);
    if (const auto* options = json::find_array(*one, "options"))
      for (const auto& option : *options)
        if (const auto* fields = option.if_object())
          question.options.push_back({text(*fields, "label"), text(*fields, "description")});
    out.push_back(std::move(question));
  }
  return out;
}

std::vector<UserAnswer> answers_from(const Ask& ask, std::string_view content) {
  const auto text = trim(content);
  if (text.starts_with('{') || text.starts_with('[')) {
    if (const auto parsed = json::parse(text)) {
      std::optional<std::vector<UserAnswer>> out;
      if (const auto* object = parsed->if_object()) out = from_object(ask, *object);
      if (const auto* array = parsed->if_array()) out = from_array(ask, *array);
      if (out) return *std::move(out);
    }
  }
  return from_words(ask, content);
}

}  // namespace reef::runtime
