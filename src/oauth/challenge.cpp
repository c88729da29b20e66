#include "oauth/challenge.h"

#include <algorithm>

#include "base/utf8.h"

namespace reef::oauth {
namespace {

constexpr std::size_t kSchemesMax = 16;
constexpr std::size_t kParametersMax = 64;
constexpr std::size_t kScopesMax = 200;

bool is_token(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool done() const { return text_.empty(); }
  void skip_spaces() {
    while (!done() && (text_.front() == ' ' || text_.front() == '\t')) text_.remove_prefix(1);
  }
  void skip_separators() {
    while (!done() && (text_.front() == ' ' || text_.front() == '\t' || text_.front() == ','))
      text_.remove_prefix(1);
  }
  bool take(char c) {
    if (done() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string token() {
    std::size_t size = 0;
    while (size < text_.size() && is_token(text_[size])) ++size;
    auto out = std::string(text_.substr(0, size));
    text_.remove_prefix(size);
    return out;
  }
  // Reads a quoted string, or the text up to the next separator.
  std::string value() {
    std::string out;
    if (take('"')) {
      while (!done() && !take('"')) {
        if (text_.front() == '\\' && text_.size() > 1) text_.remove_prefix(1);
        out += text_.front();
        text_.remove_prefix(1);
      }
      return out;
    }
    const auto size = std::min(text_.find_first_of(" \t,"), text_.size());
    out = text_.substr(0, size);
    text_.remove_prefix(size);
    return out;
  }
  void skip_one() { text_.remove_prefix(1); }

 private:
  std::string_view text_;
};

std::string find(const AuthScheme& scheme, std::string_view name) {
  for (const auto& [key, value] : scheme.parameters)
    if (key == name) return value;
  return {};
}

}  // namespace

std::vector<AuthScheme> schemes_from(std::string_view header) {
  std::vector<AuthScheme> out;
  Reader reader(header);
  for (;;) {
    reader.skip_separators();
    if (reader.done()) return out;
    auto word = reader.token();
    if (word.empty()) {
      reader.skip_one();  // no word begins with this character
      continue;
    }
    reader.skip_spaces();
    // The word names a parameter of the current scheme, or the next scheme.
    if (reader.take('=')) {
      reader.skip_spaces();
      auto value = reader.value();
      if (!out.empty() && out.back().parameters.size() < kParametersMax)
        out.back().parameters.emplace_back(utf8::lower_ascii(word), std::move(value));
    } else if (out.size() < kSchemesMax) {
      out.push_back({utf8::lower_ascii(word), {}});
    } else {
      return out;
    }
  }
}

Challenge challenge_from(const http::Headers& headers) {
  Challenge out;
  bool found = false;
  for (const auto& [name, value] : headers) {
    if (name != "www-authenticate") continue;
    for (const auto& scheme : schemes_from(value)) {
      const bool dpop = scheme.name == "dpop";
      if (!dpop && scheme.name != "bearer") continue;
      // The first challenge decides, but the others fill in what it lacks.
      if (!found) out.dpop = dpop;
      found = true;
      const auto keep = [](std::string& into, std::string said) {
        if (into.empty()) into = std::move(said);
      };
      keep(out.resource_metadata, find(scheme, "resource_metadata"));
      keep(out.error, find(scheme, "error"));
      if (out.scopes.empty()) out.scopes = scopes_from(find(scheme, "scope"));
    }
  }
  return out;
}

std::vector<std::string> scopes_from(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < kScopesMax) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    const bool good = std::all_of(word.begin(), word.end(),
                                  [](char c) { return c > 0x20 && c < 0x7f && c != '"'; });
    if (!word.empty() && good && !contains(out, word)) out.emplace_back(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string joined(const std::vector<std::string>& scopes) {
  std::string out;
  for (const auto& scope : scopes) {
    if (!out.empty()) out += ' ';
    out += scope;
  }
  return out;
}

std::vector<std::string> united(std::vector<std::string> scopes,
                                const std::vector<std::string>& more) {
  for (const auto& scope : more)
    if (!contains(scopes, scope)) scopes.push_back(scope);
  return scopes;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool contains_all(const std::vector<std::string>& list, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const auto& word) { return contains(list, word); });
}

}  // namespace reef::oauth
