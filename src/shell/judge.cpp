#include "shell/judge.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::shell {
namespace {

constexpr int kShellsMax = 6;  // shells inside each other

// /dev/tcp/host/port is a connection, not a file.
bool may_connect(const Argument& target) {
  for (const std::string_view place : {"/dev/tcp/", "/dev/udp/"}) {
    if (target.prefix.starts_with(place)) return true;
    if (!target.literal && place.starts_with(target.prefix)) return true;
  }
  return false;
}

bool is_descriptor(std::string_view text) {
  if (text.ends_with('-')) text.remove_suffix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether the function starts itself in a pipeline or in the background.
bool calls(const Script& script, std::string_view name) {
  for (const auto& pipeline : script.pipelines)
    for (const auto& command : pipeline.commands) {
      if (!command.words.empty() && argument_of(command.words.front()).is(name) &&
          (pipeline.background || pipeline.commands.size() > 1))
        return true;
      for (const auto& inner : command.scripts)
        if (calls(inner, name)) return true;
    }
  return false;
}

}  // namespace

Judgement judge(std::string_view command) {
  Judge judge;
  judge.text(command);
  return judge.result();
}

void Judge::text(std::string_view script_text, Dialect dialect) {
  if (++depth_ > kShellsMax) {
    note(Effect::changes, "it is nested too deeply");
  } else if (auto parsed = parse(script_text, dialect)) {
    script(*parsed);
  } else {
    note(Effect::changes, fmt::format("it is not understood: {}", parsed.error().what));
    if (auto danger = danger_in_text(script_text); !danger.empty())
      note(Effect::dangerous, std::move(danger));
  }
  --depth_;
}

Judgement Judge::result() const {
  Judgement judgement{effect_, reason_, {}, false};
  if (effect_ != Effect::changes || !steady_) return judgement;
  judgement.rule = rule_.kind;
  judgement.repeatable = rule_.exact;
  return judgement;
}

void Judge::note(Effect effect, std::string reason, Rule rule) {
  if (effect == Effect::reads) return;
  if (effect > effect_) {
    effect_ = effect;
    reason_ = std::move(reason);
  }
  if (!ruled_) {
    rule_ = std::move(rule);
  } else {
    if (rule_.kind != rule.kind) rule_.kind.clear();
    rule_.exact = rule_.exact && rule.exact;
  }
  ruled_ = true;
}

void Judge::script(const Script& script) {
  for (const auto& pipeline : script.pipelines)
    for (std::size_t i = 0; i < pipeline.commands.size(); ++i) command(pipeline.commands[i], i > 0);
}

void Judge::command(const Command& command, bool piped) {
  if (!command.risk.empty()) note(Effect::changes, command.risk);
  for (const auto& made : command.redirects) redirect(made);
  words(command.words);
  if (command.kind == Command::Kind::function) return function(command);
  for (const auto& inner : command.scripts) script(inner);
  Arguments arguments;
  for (const auto& word : command.words) arguments.push_back(argument_of(word));
  switch (command.kind) {
    case Command::Kind::simple:
      assignments(command);
      if (!arguments.empty()) run(arguments, piped);
      break;
    case Command::Kind::condition:
      if (auto why = objection_to_condition(arguments); !why.empty())
        note(Effect::changes, std::move(why));
      break;
    case Command::Kind::compound:
      if (!command.name.empty() && !is_harmless_variable(command.name))
        note(Effect::changes,
             fmt::format("setting '{}' can change what programs do", command.name));
      break;
    case Command::Kind::function:
      break;
  }
}

void Judge::function(const Command& command) {
  note(Effect::changes, fmt::format("it defines a function '{}'", command.name));
  for (const auto& inner : command.scripts) {
    if (calls(inner, command.name))
      note(Effect::dangerous, fmt::format("'{}' starts itself over and over", command.name));
    script(inner);
  }
}

void Judge::words(const std::vector<Word>& list) {
  for (const auto& each : list) word(each);
}

void Judge::word(const Word& word) {
  for (const auto& part : word.parts) {
    if (!part.risk.empty()) note(Effect::changes, part.risk);
    words(part.words);
    for (const auto& inner : part.scripts) script(inner);
  }
}

void Judge::redirect(const Redirect& made) {
  word(made.target);
  if (made.document) word(*made.document);
  if (made.named) note(Effect::changes, "a redirection assigns a variable");
  if (made.op == "<<" || made.op == "<<-" || made.op == "<<<" || made.op == "|&") return;
  const auto target = argument_of(made.target);
  if (made.op == "<" || made.op == "<&") {
    if (made.op == "<&" && !(target.literal && is_descriptor(*target.literal)))
      note(Effect::changes, "a redirection that is computed");
    if (may_connect(target)) note(Effect::changes, "a redirection can reach the network");
    return;
  }
  if (made.op == ">&" && target.literal && is_descriptor(*target.literal)) return;
  if (target.is("/dev/null")) return;
  if (!target.literal) return note(Effect::changes, "it writes to a file whose name is computed");
  note(Effect::changes, fmt::format("it writes to '{}'", *target.literal),
       {.kind = {}, .exact = !may_connect(target)});
  if (auto danger = danger_of_path(*target.literal); !danger.empty())
    note(Effect::dangerous, std::move(danger));
}

void Judge::assignments(const Command& command) {
  const auto program = command.words.empty() ? std::optional<std::string>()
                                             : argument_of(command.words.front()).literal;
  for (const auto& made : command.assignments) {
    steady_ = false;
    words(made.values);
    if (!made.risk.empty()) note(Effect::changes, made.risk);
    Argument value = literal_argument("");
    if (made.values.size() == 1) value = argument_of(made.values.front());
    if (made.values.size() > 1) value = unknown_argument(false);
    if (command.words.empty()
            ? is_harmless_variable(made.name) || is_harmless_export(made.name, value)
            : is_harmless_export(made.name, value) ||
                  (made.name == "IFS" && program == "read" && value.literal))
      continue;
    note(Effect::changes, fmt::format("setting '{}' can change what programs do", made.name));
  }
}

void Judge::run(const Arguments& words, bool piped) {
  const auto& name = words.front();
  if (!name.literal || name.literal->empty())
    return note(Effect::changes, "which program runs is computed");
  std::string program = *name.literal;
  for (const std::string_view folder :
       {"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"})
    if (program.starts_with(folder) && program.find('/', folder.size()) == std::string::npos)
      program.erase(0, folder.size());

  const auto call = Call(words).subspan(1);
  if (changes_what_follows(program)) steady_ = false;
  if (for_many_ && is_listed(program, "rm unlink rmdir"))
    return note(Effect::dangerous, fmt::format("'{}' of everything that is found", program));
  if (run_wrapper(program, call, piped)) return;
  if (auto danger = danger_of(program, call); !danger.empty())
    return note(Effect::dangerous, std::move(danger));
  if (auto why = objection_to(program, call); !why.empty())
    note(Effect::changes, std::move(why), rule_of(program, call));
}

}  // namespace reef::shell
