#include "base/secrets.h"

#include <algorithm>

namespace reef {
namespace {

constexpr std::size_t kSecretBytesMin = 6;

}  // namespace

void Secrets::add(std::string secret) {
  if (secret.size() < kSecretBytesMin) return;
  values_.push_back(std::move(secret));
  std::sort(values_.begin(), values_.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string Secrets::scrub(std::string text) const {
  for (const auto& secret : values_)
    for (auto at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kMasked.size()))
      text.replace(at, secret.size(), kMasked);
  return text;
}

bool names_a_place(std::string_view value) {
  return value.starts_with("env:") || value.starts_with("cmd:");
}

std::string mask(const std::string& value) {
  return value.empty() || names_a_place(value) ? value : std::string(kMasked);
}

}  // namespace reef
