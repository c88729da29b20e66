#include "hooks/os/edits.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::hooks::os {
namespace {

constexpr std::size_t kResultBytesMax = 64U << 20;

std::string with_crlf(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) out += '\r';
    out += text[i];
  }
  return out;
}

// Whether every line ends in CRLF.
bool is_crlf(std::string_view text) {
  bool any = false;
  for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return false;
    any = true;
  }
  return any;
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

Result<std::size_t> apply(std::string& text, const Edit& edit, bool crlf) {
  if (edit.old_text.empty()) return Error(Errc::invalid, "old_string must not be empty");
  if (edit.old_text == edit.new_text)
    return Error(Errc::invalid, "old_string and new_string are identical");
  auto from = crlf ? with_crlf(edit.old_text) : edit.old_text;
  auto to = crlf ? with_crlf(edit.new_text) : edit.new_text;
  auto count = count_of(text, from);
  if (count == 0 && !crlf && text.find("\r\n") != std::string::npos) {
    // The text has mixed line ends, so the piece may stand there with CRLF.
    from = with_crlf(edit.old_text);
    to = with_crlf(edit.new_text);
    count = count_of(text, from);
  }
  if (count == 0) return Error(Errc::not_found, "old_string not found");
  if (count > 1 && !edit.everywhere)
    return Error(Errc::conflict,
                 fmt::format("old_string is not unique, found {} occurrences; take more of what "
                             "stands around it, or set replace_all",
                             count));
  if (to.size() > from.size() && text.size() + count * (to.size() - from.size()) > kResultBytesMax)
    return Error(Errc::too_large,
                 fmt::format("the file would grow beyond {} MiB", kResultBytesMax >> 20));
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  out.append(text, done);
  text = std::move(out);
  return count;
}

}  // namespace

Result<Edited> apply_edits(std::string text, const std::vector<Edit>& edits) {
  if (edits.empty())
    return Error(Errc::invalid, "nothing to change: give old_string and new_string, or edits");
  const bool crlf = is_crlf(text);
  Edited out{std::move(text), 0};
  for (std::size_t i = 0; i < edits.size(); ++i) {
    auto replaced = apply(out.text, edits[i], crlf);
    if (!replaced) {
      if (edits.size() == 1) return std::move(replaced).error();
      return std::move(replaced).error().with(fmt::format("edit {} of {}", i + 1, edits.size()));
    }
    out.replaced += *replaced;
  }
  return out;
}

}  // namespace reef::hooks::os
