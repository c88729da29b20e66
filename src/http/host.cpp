#include "http/host.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <arpa/inet.h>

#include "base/utf8.h"

namespace reef::http {
namespace {

bool is_inner_v4(const unsigned char* a) {
  return a[0] == 127 || a[0] == 10 || a[0] == 0 || (a[0] == 172 && (a[1] & 0xf0) == 16) ||
         (a[0] == 192 && a[1] == 168) || (a[0] == 169 && a[1] == 254) ||
         (a[0] == 100 && (a[1] & 0xc0) == 64);
}

// Whether resolvers would take this last part of a host for a part of a number.
bool is_numeric(std::string_view part) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return part.starts_with("0x") ||
         (!part.empty() && std::all_of(part.begin(), part.end(), is_digit));
}

}  // namespace

std::string host_in(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const auto user = url.rfind('@'); user != std::string_view::npos) url.remove_prefix(user + 1);
  if (url.starts_with('[')) return utf8::lower_ascii(url.substr(1, url.find(']') - 1));
  return utf8::lower_ascii(url.substr(0, url.find(':')));
}

bool is_loopback_host(const std::string& host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  std::array<unsigned char, 16> number{};
  if (inet_pton(AF_INET, host.c_str(), number.data()) == 1) return number[0] == 127;
  return host == "::1";
}

bool is_inner_host(const std::string& host) {
  if (is_loopback_host(host)) return true;
  std::array<unsigned char, 16> number{};
  if (inet_pton(AF_INET, host.c_str(), number.data()) == 1) return is_inner_v4(number.data());
  // Other spellings of numbers that resolvers take for IPv4: 2130706433, 127.1, 0x7f.1
  if (is_numeric(std::string_view(host).substr(host.rfind('.') + 1))) return true;
  if (inet_pton(AF_INET6, host.c_str(), number.data()) != 1) return false;
  constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(number.data(), kMapped.data(), kMapped.size()) == 0)
    return is_inner_v4(number.data() + kMapped.size());
  const bool zeros = std::all_of(number.begin(), number.end() - 1, [](auto b) { return b == 0; });
  return zeros || (number[0] & 0xfe) == 0xfc || (number[0] == 0xfe && (number[1] & 0xc0) == 0x80);
}

}  // namespace reef::http
