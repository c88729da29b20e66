#include "shell/arguments.h"

namespace reef::shell {

Argument literal_argument(std::string text) {
  Argument made;
  made.prefix = text;
  made.literal = std::move(text);
  return made;
}

Argument unknown_argument(bool splits) {
  Argument made;
  made.one = !splits;
  made.splits = splits;
  return made;
}

Argument argument_of(const Word& word) {
  Argument made;
  bool known = true;
  for (const auto& part : word.parts) {
    switch (part.kind) {
      case Part::Kind::literal:
        if (known) made.prefix += part.text;
        break;
      case Part::Kind::tilde:
        // This becomes a folder's name, or stays as it is when there is no such user.
        made.prefix += part.text;
        known = false;
        break;
      case Part::Kind::glob:
      case Part::Kind::brace:
        known = false;
        made.one = false;
        break;
      case Part::Kind::parameter:
      case Part::Kind::command:
        if (part.words.empty() && part.risk.empty() &&
            (part.text == "?" || part.text == "#" || part.text == "$" || part.text == "!")) {
          known = false;
          made.number = word.parts.size() == 1;
          break;
        }
        // These are absolute paths unless somebody assigns them, which nothing harmless does. A
        // folder's name may have blanks; a home's hardly does.
        if (known && made.prefix.empty() && part.words.empty() &&
            (part.text == "HOME" || (part.text == "PWD" && part.quoted))) {
          made.prefix = "/";
          known = false;
          break;
        }
        known = false;
        if (!part.quoted || part.many) made.one = false, made.splits = true;
        break;
      case Part::Kind::arithmetic:
        known = false;
        break;
      case Part::Kind::process:
        if (known) made.prefix += "/dev/fd/";
        known = false;
        break;
    }
  }
  if (known) made.literal = made.prefix;
  return made;
}

}  // namespace reef::shell
