#include <fmt/format.h>

#include "shell/programs.h"

namespace reef::shell {
namespace {

constexpr std::string_view kAlone =
    "-print -print0 -ls -prune -quit -not ! -a -and -o -or ( ) , -follow -mount -xdev -depth "
    "-daystart -readable "
    "-writable -executable -empty -true -false -noleaf -nouser -nogroup -ignore_readdir_race -L -H "
    "-P";
constexpr std::string_view kValued =
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype "
    "-maxdepth -mindepth "
    "-size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -newerct "
    "-newerat -newermm -user "
    "-group -perm -links -inum -samefile -uid -gid -lname -ilname -fstype -used -printf";

// {} alone is a path that begins like the place where the search began. Inside a word it is unknown
// text.
Argument replaced(const Argument& word) {
  if (!word.literal) return word;
  const auto at = word.literal->find("{}");
  if (at == std::string::npos) return word;
  Argument made;
  made.prefix = *word.literal == "{}" ? "./" : word.literal->substr(0, at);
  return made;
}

}  // namespace

FindCall read_find(Call call) {
  FindCall read;
  const auto object = [&](std::string why) {
    if (read.objection.empty()) read.objection = std::move(why);
  };
  bool places = true;
  for (std::size_t i = 0; i < call.size(); ++i) {
    const auto& word = call[i];
    if (!word.literal) {
      const char first = word.prefix.empty() ? '-' : word.prefix.front();
      if (!places || word.splits || first == '-' || first == '(' || first == '!' || first == ',')
        object("a word after 'find' is computed and could be '-delete'");
      continue;
    }
    const auto& text = *word.literal;
    if (is_listed(text, "-exec -execdir -ok -okdir")) {
      Arguments run;
      for (++i; i < call.size() && !call[i].is(";") &&
                !(call[i].is("+") && !run.empty() && call[i - 1].is("{}"));
           ++i)
        run.push_back(call[i]);
      if (i == call.size() || run.empty()) object(fmt::format("'find {}' does not end", text));
      for (auto& argument : run) argument = replaced(argument);
      if (!run.empty()) read.runs.push_back(std::move(run));
      places = false;
    } else if (is_listed(text, kValued)) {
      if (++i == call.size() || !call[i].one) object(fmt::format("'find {}' lacks a word", text));
      places = false;
    } else if (is_listed(text, kAlone)) {
      if (!is_listed(text, "-L -H -P")) places = false;
    } else if (text.starts_with("-") || !places) {
      object(fmt::format("'find {}' is not known to be harmless", text));
    }
  }
  return read;
}

}  // namespace reef::shell
