#include "context/silent.h"

#include <utility>

namespace reef::context {
namespace {

bool goes_on(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80U;
}

}  // namespace

bool is_silent(std::string_view reply) {
  return reply.starts_with(kSilentToken) &&
         (reply.size() == kSilentToken.size() || !goes_on(reply[kSilentToken.size()]));
}

std::string SilentGate::take(std::string_view piece) {
  if (state_ == State::open) return std::string(piece);
  if (state_ == State::silent) return {};
  held_ += piece;
  // A longer word may still follow the whole token, so the next character decides.
  if (kSilentToken.starts_with(held_)) return {};
  state_ = is_silent(held_) ? State::silent : State::open;
  auto out = std::exchange(held_, {});
  return state_ == State::open ? out : std::string();
}

std::string SilentGate::finish() {
  if (state_ != State::undecided) return {};
  state_ = held_ == kSilentToken ? State::silent : State::open;
  auto out = std::exchange(held_, {});
  return state_ == State::open ? out : std::string();
}

}  // namespace reef::context
