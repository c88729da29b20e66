#include "oauth/address.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/utf8.h"
#include "http/host.h"
#include "http/url.h"

namespace reef::oauth {
namespace {

constexpr std::size_t kAddressBytesMax = 8U << 10;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
               hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_host(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  if (text.size() > kAddressBytesMax) return std::nullopt;
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '\\') return std::nullopt;
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  Address out;
  out.scheme = utf8::lower_ascii(text.substr(0, colon));
  if (out.scheme != "http" && out.scheme != "https") return std::nullopt;
  auto rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const auto end = std::min(rest.find_first_of("/?"), rest.size());
  auto place = rest.substr(0, end);
  rest.remove_prefix(end);
  if (place.find('@') != std::string_view::npos) return std::nullopt;
  if (place.starts_with('[')) {
    const auto close = place.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    out.host = utf8::lower_ascii(place.substr(1, close - 1));
    std::array<unsigned char, 16> number{};
    if (inet_pton(AF_INET6, out.host.c_str(), number.data()) != 1) return std::nullopt;
    place.remove_prefix(close + 1);
  } else {
    const auto port = std::min(place.find(':'), place.size());
    out.host = utf8::lower_ascii(place.substr(0, port));
    if (!is_host(out.host)) return std::nullopt;
    place.remove_prefix(port);
  }
  if (!place.empty()) {
    if (place.front() != ':' || place.size() > 6) return std::nullopt;
    out.port = place.substr(1);
    if (!out.port.empty() && !is_number(out.port)) return std::nullopt;
    if (out.port == (out.scheme == "https" ? "443" : "80")) out.port.clear();
  }
  const auto question = std::min(rest.find('?'), rest.size());
  out.path = rest.substr(0, question);
  if (question < rest.size()) out.query = rest.substr(question + 1);
  return out;
}

std::string origin_of(const Address& address) {
  const bool numbers = address.host.find(':') != std::string::npos;
  auto out = address.scheme + "://" + (numbers ? "[" + address.host + "]" : address.host);
  if (!address.port.empty()) out += ":" + address.port;
  return out;
}

bool is_loopback(const Address& address) {
  return http::is_loopback_host(address.host);
}

bool is_inner(const Address& address) {
  return http::is_inner_host(address.host);
}

Trust::Trust(std::string_view server, const std::vector<std::string>& named) {
  if (const auto address = parse_address(server)) {
    inner_ = is_inner(*address);
    origins_.push_back(origin_of(*address));
  }
  for (const auto& one : named)
    if (const auto address = parse_address(one)) origins_.push_back(origin_of(*address));
}

Status Trust::may_ask(std::string_view url) const {
  const auto address = parse_address(url);
  if (!address)
    return Error(Errc::denied,
                 fmt::format("'{}' is no address on the web", utf8::excerpt(utf8::printable(url))));
  const auto origin = origin_of(*address);
  if (std::find(origins_.begin(), origins_.end(), origin) != origins_.end()) return Ok{};
  if (inner_ && is_loopback(*address)) return Ok{};
  if (is_inner(*address) && !inner_)
    return Error(Errc::denied, fmt::format("{} is on this machine or a private network, and the "
                                           "server that names it is not",
                                           origin));
  if (address->scheme != "https") return Error(Errc::denied, origin + " is not https");
  return Ok{};
}

std::string to_form(const Parameters& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters) {
    if (!out.empty()) out += '&';
    out += http::percent_encoded(name) + '=' + http::percent_encoded(value);
  }
  return out;
}

Parameters from_form(std::string_view text) {
  Parameters out;
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto one = text.substr(0, end);
    const auto equals = std::min(one.find('='), one.size());
    if (!one.empty())
      out.emplace_back(decoded(one.substr(0, equals)),
                       equals < one.size() ? decoded(one.substr(equals + 1)) : std::string());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::optional<std::string> find_parameter(const Parameters& parameters, std::string_view name) {
  for (const auto& [key, value] : parameters)
    if (key == name) return value;
  return std::nullopt;
}

std::string with_parameters(std::string url, const Parameters& parameters) {
  url.resize(std::min(url.find('#'), url.size()));
  if (url.find('?') == std::string::npos) {
    url += '?';
  } else if (!url.ends_with('?') && !url.ends_with('&')) {
    url += '&';
  }
  return url + to_form(parameters);
}

}  // namespace reef::oauth
