#include "search/norms.h"

#include <algorithm>
#include <thread>

namespace reef::search {

void Norms::use(const FieldScales& scales) {
  if (gains_ && scales == scales_) return;
  scales_ = scales;
  if (gains_) {
    for (auto& state : states_) state.store(State::empty, std::memory_order_relaxed);
    return;
  }
  const auto chunks = lengths_.documents.size() / kWindow + 1;
  states_ = std::vector<std::atomic<State>>(chunks);
  some_have_many_.assign(chunks, 0);
  // Left uninitialised, because memory that nobody touches costs nothing.
  gains_ = std::make_unique_for_overwrite<float[]>((chunks + 1) * kWindow);
  norms_ = std::make_unique_for_overwrite<float[]>((chunks + 1) * kWindow);
  std::fill_n(gains_.get() + chunks * kWindow, kWindow, 0.0F);
  std::fill_n(norms_.get() + chunks * kWindow, kWindow, 1.0F);
}

void Norms::fill(std::uint32_t from) {
  for (auto chunk = from / kWindow; chunk < states_.size() && chunk * kWindow < from + kWindow;
       ++chunk) {
    auto& state = states_[chunk];
    auto seen = state.load(std::memory_order_acquire);
    if (seen == State::filled) continue;
    if (seen == State::empty && state.compare_exchange_strong(seen, State::being_filled)) {
      fill_chunk(chunk);
      state.store(State::filled, std::memory_order_release);
      continue;
    }
    // Another thread is filling it, which takes half a microsecond.
    while (state.load(std::memory_order_acquire) != State::filled) std::this_thread::yield();
  }
}

void Norms::fill_chunk(std::uint32_t chunk) {
  const auto from = chunk * kWindow;
  const auto count = std::min<std::size_t>(kWindow, lengths_.documents.size() - from);
  const auto* lengths = lengths_.documents.data() + from;
  auto* gains = gains_.get() + from;
  auto* norms = norms_.get() + from;
  bool some = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = lengths[i];
    const bool many = (length & kManyFields) != 0;
    gains[i] = many ? 0 : scales_.gain(length);
    norms[i] = scales_.norm(length);
    some = some || many;
  }
  std::fill(gains + count, gains + kWindow, 0.0F);
  std::fill(norms + count, norms + kWindow, 1.0F);
  some_have_many_[chunk] = some ? 1 : 0;
}

// The loop has no branch, so that the compiler can vectorise it.
void Norms::raise(std::uint32_t from, const Payloads& payloads, float weight, float* scores) const {
  const auto* gains = gains_.get() + from;
  const auto* norms = norms_.get() + from;
  for (std::size_t i = 0; i < kWindow; ++i) {
    const auto count = static_cast<float>(static_cast<std::int32_t>(payloads[i]));
    const float score = weight * (gains[i] * count / (count + norms[i]));
    scores[i] = scores[i] < score ? score : scores[i];
  }
  const auto first = from / kWindow;
  const auto last = std::min<std::size_t>((from + kWindow - 1) / kWindow, states_.size() - 1);
  if (some_have_many_[first] == 0 && some_have_many_[last] == 0) return;
  for (std::uint32_t i = 0; i < kWindow; ++i) {
    if (payloads[i] == 0 || gains[i] != 0) continue;
    const float score = weight * scales_.impact(lengths_, from + i, payloads[i]);
    scores[i] = scores[i] < score ? score : scores[i];
  }
}

}  // namespace reef::search
