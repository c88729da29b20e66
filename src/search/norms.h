// What impacts of a segment's documents follow from, worked out once for all terms and kept for the
// next search, as long as averages stay the same. Gives the very numbers FieldScales gives.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/scoring.h"

namespace reef::search {

// For one search at a time; its threads may share it.
class Norms {
 public:
  // Documents that are looked at together.
  static constexpr std::uint32_t kWindow = 256;
  using Payloads = std::array<std::uint32_t, kWindow>;

  explicit Norms(Lengths lengths) : lengths_(lengths) {}

  // First, by one thread. What was worked out for others is forgotten.
  void use(const FieldScales& scales);
  // Before impacts of documents of the window from `from` on are asked for. Any thread.
  void fill(std::uint32_t from);
  // All places of the window from `from` on: scores[i] becomes weight times the impact of
  // payloads[i], where that is more. 0: the place has no posting.
  void raise(std::uint32_t from, const Payloads& payloads, float weight, float* scores) const;
  float impact(std::uint32_t document, std::uint32_t payload) const {
    const float gain = gains_[document];
    if (gain == 0) [[unlikely]]
      return scales_.impact(lengths_, document, payload);
    const auto count = static_cast<float>(payload);
    return gain * count / (count + norms_[document]);
  }

 private:
  void fill_chunk(std::uint32_t chunk);

  Lengths lengths_;
  FieldScales scales_;
  // Of every kWindow documents.
  enum class State : std::uint8_t { empty, being_filled, filled };
  std::vector<std::atomic<State>> states_;
  std::vector<std::uint8_t> some_have_many_;
  // Per document, with room for a window behind the last. Gain 0: it has several fields, and is
  // worked out by itself.
  std::unique_ptr<float[]> gains_;
  std::unique_ptr<float[]> norms_;
};

}  // namespace reef::search
