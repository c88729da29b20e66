#include "hooks/os/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/utf8.h"

namespace reef::hooks::os {
namespace {

constexpr std::int64_t kProgramBytesMax = 8 << 20;

Error wrong(std::string_view glob, std::string_view why) {
  return Error(Errc::invalid, fmt::format("pattern '{}': {}", utf8::excerpt(glob), why));
}

re2::RE2::Options options() {
  re2::RE2::Options out;
  out.set_log_errors(false);
  out.set_max_mem(kProgramBytesMax);
  out.set_never_capture(true);
  out.set_dot_nl(true);
  // File names are bytes, not characters.
  out.set_encoding(re2::RE2::Options::EncodingLatin1);
  return out;
}

// [a-z], [!a-z]; `at` begins after the opening bracket and ends after the closing one.
bool take_set(std::string_view glob, std::size_t& at, std::string& out) {
  std::string set = "[";
  if (at < glob.size() && (glob[at] == '!' || glob[at] == '^')) {
    set += "^/";  // a set never matches the separator
    ++at;
  }
  for (bool first = true;; first = false, ++at) {
    if (at >= glob.size()) return false;
    const char c = glob[at];
    if (c == ']' && !first) break;
    if (c == '-') {
      set += '-';
    } else {
      set += re2::RE2::QuoteMeta(re2::StringPiece(&glob[at], 1));
    }
  }
  ++at;
  out += set + "]";
  return true;
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view glob) {
  if (glob.empty()) return wrong(glob, "it is empty");
  if (glob.size() > kPatternBytesMax)
    return wrong(glob, fmt::format("it has more than {} bytes", kPatternBytesMax));
  while (glob.starts_with("./")) glob.remove_prefix(2);
  std::string out;
  int braces = 0;
  for (std::size_t at = 0; at < glob.size();) {
    const char c = glob[at++];
    const bool part_begins = at == 1 || glob[at - 2] == '/';
    if (c == '*' && at < glob.size() && glob[at] == '*') {
      while (at < glob.size() && glob[at] == '*') ++at;
      if (part_begins && at < glob.size() && glob[at] == '/') {
        out += "(?:[^/]+/)*";  // any number of folders, or none
        ++at;
      } else {
        out += ".*";
      }
    } else if (c == '*') {
      out += "[^/]*";
    } else if (c == '?') {
      out += "[^/]";
    } else if (c == '[') {
      if (!take_set(glob, at, out)) return wrong(glob, "a '[' has no ']'");
    } else if (c == '{') {
      out += "(?:";
      ++braces;
    } else if (c == '}' && braces > 0) {
      out += ")";
      --braces;
    } else if (c == ',' && braces > 0) {
      out += "|";
    } else if (c == '\\' && at < glob.size()) {
      out += re2::RE2::QuoteMeta(re2::StringPiece(&glob[at++], 1));
    } else {
      out += re2::RE2::QuoteMeta(re2::StringPiece(&glob[at - 1], 1));
    }
  }
  if (braces > 0) return wrong(glob, "a '{' has no '}'");
  auto compiled = std::make_shared<const re2::RE2>(out, options());
  if (!compiled->ok()) return wrong(glob, compiled->error());
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view path) const {
  return re2::RE2::FullMatch(re2::StringPiece(path.data(), path.size()), *compiled_);
}

Result<std::shared_ptr<const re2::RE2>> compile_expression(std::string_view text,
                                                           bool ignore_case) {
  if (text.empty()) return wrong(text, "it is empty");
  if (text.size() > kPatternBytesMax)
    return wrong(text, fmt::format("it has more than {} bytes", kPatternBytesMax));
  auto how = options();
  how.set_encoding(re2::RE2::Options::EncodingUTF8);
  how.set_dot_nl(false);
  how.set_never_nl(true);
  how.set_case_sensitive(!ignore_case);
  // ^ and $ match at the ends of lines.
  auto compiled = std::make_shared<const re2::RE2>("(?m)" + std::string(text), how);
  if (!compiled->ok()) return wrong(text, compiled->error());
  return compiled;
}

}  // namespace reef::hooks::os
