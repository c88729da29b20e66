#include <algorithm>

#include "shell/parser.h"

namespace reef::shell {
namespace {

// The longest come first.
constexpr std::string_view kOperators[] = {"<<<", "&>>", "<<-", "<<", "<>", "<&",
                                           ">>",  ">&",  ">|",  "&>", "<",  ">"};

// The length of the part before an operator: digits, or {name}.
std::size_t descriptor_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at > 0 || text.empty() || text.front() != '{') return at;
  at = 1;
  while (at < text.size() && is_name_char(text[at])) ++at;
  return at > 1 && at < text.size() && text[at] == '}' ? at + 1 : 0;
}

}  // namespace

bool Parser::at_redirect() const {
  if (starts("&>")) return true;
  const auto left = rest();
  const auto before = descriptor_length(left);
  if (before >= left.size()) return false;
  const char c = left[before];
  return (c == '<' || c == '>') && !(before + 1 < left.size() && left[before + 1] == '(');
}

void Parser::redirect(Command& command) {
  const auto before = descriptor_length(rest());
  Redirect made;
  made.named = before > 0 && peek() == '{';
  at_ += before;
  const auto* op =
      std::ranges::find_if(kOperators, [this](auto candidate) { return starts(candidate); });
  if (op == std::end(kOperators)) return fail("a redirection that is not understood");
  made.op = *op;
  if (made.op == "<<<" || made.op.starts_with("&>") || made.named) only_bash("'" + made.op + "'");
  at_ += op->size();
  skip_blanks();
  if (done() || (ends_word(peek()) && !starts("<(") && !starts(">(")))
    return fail("a redirection goes nowhere");
  made.target = word();
  if (made.op == "<<" || made.op == "<<-") {
    std::string delimiter;
    for (const auto& part : made.target.parts) {
      if (part.kind != Part::Kind::literal) return fail("the end of a here-document is not plain");
      delimiter += part.text;
    }
    if (delimiter.empty() || delimiter.find('\n') != std::string::npos)
      return fail("the end of a here-document is not plain");
    made.document = std::make_shared<Word>();
    pending_.push_back({delimiter, made.target.quoted, made.op == "<<-", made.document});
    made.target = {};
  }
  command.redirects.push_back(std::move(made));
}

void Parser::read_documents() {
  const auto pending = std::move(pending_);
  pending_.clear();
  for (const auto& wanted : pending) {
    std::string document;
    for (;;) {
      if (done()) return fail("a here-document does not end");
      const auto end = std::min(text_.find('\n', at_), text_.size());
      auto line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (wanted.strip_tabs)
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == wanted.delimiter) break;
      // bash would end some of these documents here, and joins lines before it compares them.
      if (line.starts_with(wanted.delimiter) || (!wanted.quoted && line.ends_with('\\')))
        return fail("a here-document whose end is not clear");
      document.append(line).push_back('\n');
    }
    if (wanted.quoted) {
      wanted.document->parts.push_back(make_part(Part::Kind::literal, true, std::move(document)));
      continue;
    }
    Parser inside(document, dialect_, depth_ + 1);
    *wanted.document = inside.document();
    if (inside.failed()) return fail(inside.problem());
  }
  // The newline after the last delimiter has been read with it.
}

}  // namespace reef::shell
