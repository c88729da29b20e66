#include "hooks/mcp/elicitation.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::hooks {
namespace {

using mcp::Elicited;
using runtime::Question;
using runtime::UserAnswer;

constexpr std::size_t kFieldsMax = 20;
constexpr std::size_t kFormOptionsMax = 50;
constexpr std::size_t kFormTextBytesMax = 1000;
constexpr std::size_t kLabelBytesMax = 200;
constexpr std::string_view kDecline = "decline";
constexpr std::string_view kYes = "Yes", kNo = "No", kDone = "Done", kAccept = "Accept",
                           kRefuse = "Decline";

std::string title_text(const json::object& in, std::string_view key) {
  return utf8::printable(json::find_string(in, key).value_or(""));
}

struct Choice {
  std::string value, label;
};

// enum (with enumNames), or oneOf / anyOf of const and title.
std::vector<Choice> choices_of(const json::object& schema) {
  std::vector<Choice> out;
  const auto* names = json::find_array(schema, "enumNames");
  if (const auto* values = json::find_array(schema, "enum"))
    for (std::size_t i = 0; i < values->size() && out.size() < kFormOptionsMax; ++i) {
      const auto* value = (*values)[i].if_string();
      if (!value) continue;
      const auto* name = names && i < names->size() ? (*names)[i].if_string() : nullptr;
      out.push_back({std::string(*value), std::string(name ? *name : *value)});
    }
  for (const auto* key : {"oneOf", "anyOf"})
    if (const auto* list = json::find_array(schema, key))
      for (const auto& one : *list) {
        const auto* fields = one.if_object();
        const auto value = fields ? json::find_string(*fields, "const") : std::nullopt;
        if (!value || out.size() >= kFormOptionsMax) continue;
        out.push_back({std::string(*value),
                       std::string(json::find_string(*fields, "title").value_or(*value))});
      }
  for (auto& choice : out) choice.label = utf8::excerpt(choice.label, kLabelBytesMax);
  return out;
}

struct Field {
  std::string name;
  const json::object* schema = nullptr;
  bool required = false;
};

std::vector<Field> fields_of(const json::object& form) {
  std::vector<Field> out;
  const auto* properties = json::find_object(form, "properties");
  if (!properties) return out;
  const auto* required = json::find_array(form, "required");
  for (const auto& [name, value] : *properties) {
    if (!value.is_object() || out.size() >= kFieldsMax) continue;
    const bool needed = required && std::any_of(required->begin(), required->end(),
                                                [&, key = std::string_view(name)](const auto& one) {
                                                  return one.is_string() &&
                                                         std::string_view(one.get_string()) == key;
                                                });
    out.push_back({std::string(name), &value.get_object(), needed});
  }
  return out;
}

std::string_view type_of(const json::object& schema) {
  return json::find_string(schema, "type").value_or("string");
}

std::vector<Choice> choices_for(const json::object& schema) {
  if (type_of(schema) == "boolean")
    return {{"true", std::string(kYes)}, {"false", std::string(kNo)}};
  if (type_of(schema) == "array") {
    const auto* items = json::find_object(schema, "items");
    return items ? choices_of(*items) : std::vector<Choice>();
  }
  return choices_of(schema);
}

// The value that a label stands for; nullopt when no choice has that label.
std::optional<std::string> value_for(const std::vector<Choice>& choices, const std::string& said) {
  for (const auto& choice : choices)
    if (choice.label == said || choice.value == said) return choice.value;
  const auto lower = utf8::lower_ascii(said);
  for (const auto& choice : choices)
    if (utf8::lower_ascii(choice.label) == lower || utf8::lower_ascii(choice.value) == lower)
      return choice.value;
  return std::nullopt;
}

Error wrong(const Field& field, std::string_view why) {
  return Error(Errc::invalid, fmt::format("{}: {}", utf8::excerpt(field.name), why));
}

Result<json::value> value_from(const Field& field, const UserAnswer& answer) {
  const auto& schema = *field.schema;
  const auto type = type_of(schema);
  const auto choices = choices_for(schema);
  if (type == "array") {
    json::array out;
    for (const auto& said : answer) {
      const auto value = value_for(choices, said);
      if (!value) return wrong(field, "choose from the list");
      out.push_back(json::value(*value));
    }
    return json::value(std::move(out));
  }
  const auto& said = answer.front();
  if (type == "boolean") {
    const auto value = value_for(choices, said);
    if (!value) return wrong(field, "answer Yes or No");
    return json::value(*value == "true");
  }
  if (type == "integer") {
    std::int64_t number = 0;
    const auto* end = said.data() + said.size();
    const auto read = std::from_chars(said.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) return wrong(field, "must be a whole number");
    return json::value(number);
  }
  if (type == "number") {
    double number = 0;
    const auto* end = said.data() + said.size();
    const auto read = std::from_chars(said.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) return wrong(field, "must be a number");
    return json::value(number);
  }
  if (choices.empty()) return json::value(said);
  const auto value = value_for(choices, said);
  if (!value) return wrong(field, "choose from the list");
  return json::value(*value);
}

bool is_open(const UserAnswer& answer) {
  return std::all_of(answer.begin(), answer.end(), [](const auto& said) { return said.empty(); });
}

}  // namespace

std::vector<Question> questions_from(const std::string& server,
                                     const mcp::Elicitation& elicitation) {
  const auto asked =
      utf8::excerpt(utf8::single_line(utf8::printable(elicitation.message)), kFormTextBytesMax);
  std::vector<Question> out;
  Question only;
  only.header = server;
  if (!elicitation.url.empty()) {
    only.text = fmt::format("Server '{}' asks you to visit a page: {}\n{}", server, asked,
                            utf8::excerpt(elicitation.url, kFormTextBytesMax));
    only.options = {{std::string(kDone), "I have done what it asks for there"},
                    {std::string(kRefuse), "I will not"}};
    return {only};
  }
  const auto fields = fields_of(elicitation.schema);
  if (fields.empty()) {
    only.text = fmt::format("Server '{}' asks: {}", server, asked);
    only.options = {{std::string(kAccept), ""}, {std::string(kRefuse), ""}};
    return {only};
  }
  for (const auto& field : fields) {
    const auto& schema = *field.schema;
    Question question;
    const auto title = title_text(schema, "title");
    question.header = utf8::excerpt(title.empty() ? field.name : title);
    if (out.empty())
      question.text = fmt::format("Server '{}' asks: {}\n(\"{}\" refuses to tell it.)\n", server,
                                  asked, kDecline);
    question.text += question.header;
    if (const auto what = title_text(schema, "description"); !what.empty())
      question.text += ": " + utf8::excerpt(what, kFormTextBytesMax);
    if (const auto* otherwise = schema.if_contains("default"))
      question.text += fmt::format(" [{}]", utf8::excerpt(json::write(*otherwise), kLabelBytesMax));
    if (!field.required) question.text += " (optional)";
    question.multi_select = type_of(schema) == "array";
    for (const auto& choice : choices_for(schema)) question.options.push_back({choice.label, ""});
    out.push_back(std::move(question));
  }
  return out;
}

Result<Elicited> elicited_from(const mcp::Elicitation& elicitation,
                               const std::vector<UserAnswer>& answers) {
  Elicited out;
  const auto fields = fields_of(elicitation.schema);
  const auto first = answers.empty() || answers[0].empty() ? std::string() : answers[0][0];
  if (!elicitation.url.empty() || fields.empty()) {
    const bool yes = first == kDone || first == kAccept;
    out.action = yes ? Elicited::Action::accept : Elicited::Action::decline;
    return out;
  }
  for (const auto& answer : answers)
    if (answer.size() == 1 && utf8::lower_ascii(answer[0]) == kDecline) {
      out.action = Elicited::Action::decline;
      return out;
    }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& field = fields[i];
    if (i >= answers.size() || is_open(answers[i])) {
      if (const auto* otherwise = field.schema->if_contains("default")) {
        out.content[field.name] = *otherwise;
      } else if (field.required) {
        return wrong(field, "an answer is needed");
      }
      continue;
    }
    REEF_TRY(out.content[field.name], value_from(field, answers[i]));
  }
  out.action = Elicited::Action::accept;
  return out;
}

}  // namespace reef::hooks
