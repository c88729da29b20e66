#include "mcp/spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"

namespace reef::mcp {
namespace {

constexpr std::size_t kServerNameBytesMax = 48;
constexpr std::size_t kListMax = 1000;

bool is_secret_name(std::string_view name) {
  const auto lower = utf8::lower_ascii(name);
  for (const std::string_view word :
       {"key", "token", "secret", "password", "passwd", "auth", "credential"})
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

bool holds_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

}  // namespace

bool is_server_name(std::string_view name) {
  return !name.empty() && name.size() <= kServerNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

Status check(const Spec& spec) {
  if (!is_server_name(spec.name))
    return Error(Errc::invalid,
                 fmt::format("a server's name is 1 to {} letters, digits, dashes, points and "
                             "underscores, not '{}'",
                             kServerNameBytesMax, utf8::excerpt(spec.name)));
  if (spec.component) return Ok{};
  if (spec.command.empty() == spec.url.empty())
    return Error(Errc::invalid, "a server needs either a command or a url");
  if (!spec.url.empty()) {
    if (!spec.url.starts_with("http://") && !spec.url.starts_with("https://"))
      return Error(Errc::invalid, "url: must begin with http:// or https://");
    if (!is_header_value(spec.url) || spec.url.find(' ') != std::string::npos)
      return Error(Errc::invalid, "url: must not hold spaces or control characters");
    if (!spec.args.empty() || !spec.env.empty() || !spec.cwd.empty())
      return Error(Errc::invalid, "args, env and cwd are for servers with a command");
  } else {
    if (!spec.cwd.empty() && !spec.cwd.starts_with('/'))
      return Error(Errc::invalid, "cwd: must be an absolute path");
  }
  if (spec.args.size() > kListMax || spec.env.size() > kListMax || spec.headers.size() > kListMax)
    return Error(Errc::too_large, fmt::format("at most {} args, env and headers", kListMax));
  if (holds_nul(spec.command) || holds_nul(spec.cwd) ||
      std::any_of(spec.args.begin(), spec.args.end(), holds_nul))
    return Error(Errc::invalid, "command, args and cwd must not hold NUL characters");
  for (const auto& [name, value] : spec.env)
    if (name.empty() || name.find('=') != std::string::npos || holds_nul(name) || holds_nul(value))
      return Error(Errc::invalid,
                   fmt::format("env: '{}' cannot be a variable", utf8::excerpt(name)));
  for (const auto& [name, value] : spec.headers)
    if (!is_header_name(name) || !is_header_value(value))
      return Error(Errc::invalid,
                   fmt::format("headers: '{}' cannot be a header", utf8::excerpt(name)));
  if (!is_header_value(spec.auth))
    return Error(Errc::invalid, "auth: must not hold control characters");
  if (spec.oauth != oauth::Settings()) {
    if (spec.url.empty()) return Error(Errc::invalid, "oauth is for servers with a url");
    if (!spec.auth.empty())
      return Error(Errc::invalid, "auth and oauth: a token is either given or got, not both");
  }
  return oauth::check(spec.oauth);
}

std::string fingerprint(const Spec& spec) {
  json::object env, headers;
  for (const auto& [name, value] : spec.env) env[name] = value;
  for (const auto& [name, value] : spec.headers) headers[name] = value;
  json::array args(spec.args.begin(), spec.args.end());
  json::object login;
  for (const auto& [key, value] : oauth::words_of(spec.oauth)) login[key] = value;
  return json::write(json::array{spec.command, std::move(args), std::move(env), spec.cwd, spec.url,
                                 std::move(headers), spec.auth, std::move(login),
                                 spec.timeout.count(), spec.auto_restart,
                                 spec.component ? spec.name : std::string()});
}

std::vector<std::string> masked_args(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  bool next_is_secret = false;
  for (const auto& arg : args) {
    const auto equals = arg.find('=');
    const auto name = std::string_view(arg).substr(0, equals);
    if (std::exchange(next_is_secret, false) && !arg.starts_with('-')) {
      out.push_back(mask(arg));
    } else if (equals != std::string::npos && is_secret_name(name) &&
               name.find("://") == std::string_view::npos) {
      out.push_back(std::string(name) + "=" + mask(arg.substr(equals + 1)));
    } else {
      next_is_secret = equals == std::string::npos && arg.starts_with('-') && is_secret_name(name);
      out.push_back(masked_url(arg));
    }
  }
  return out;
}

std::string masked_url(const std::string& url) {
  auto out = url;
  const auto scheme = out.find("://");
  if (scheme == std::string::npos) return out;
  const auto begin = scheme + 3;
  const auto end = std::min(out.find_first_of("/?#", begin), out.size());
  if (const auto at = out.substr(begin, end - begin).rfind('@'); at != std::string::npos)
    out.replace(begin, at, kMasked);
  // Masks all values of parameters, because their names do not tell reliably which are secret.
  auto place = out.find('?');
  while (place != std::string::npos) {
    const auto stop = std::min(out.find_first_of("&#", place + 1), out.size());
    const auto equals = out.find('=', place);
    if (equals != std::string::npos && equals + 1 < stop)
      out.replace(equals + 1, stop - equals - 1, kMasked);
    place = out.find('&', place + 1);
  }
  return out;
}

Spec masked(const Spec& spec) {
  auto out = spec;
  for (auto& [name, value] : out.env) value = mask(value);
  for (auto& [name, value] : out.headers) value = mask(value);
  out.auth = mask(out.auth);
  out.oauth = oauth::masked(spec.oauth);
  out.args = masked_args(spec.args);
  out.url = masked_url(spec.url);
  return out;
}

}  // namespace reef::mcp
