// The numbers from which the impacts of a segment's documents follow. They are computed once for
// all terms and kept for later searches while the averages stay the same. The results are exactly
// those of FieldScales.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/scoring.h"

namespace reef::search {

// Serves one search at a time; the search's threads may share it.
class Norms {
 public:
  // The number of documents that are handled together.
  static constexpr std::uint32_t kWindow = 256;
  using Payloads = std::array<std::uint32_t, kWindow>;

  explicit Norms(Lengths lengths) : lengths_(lengths) {}

  // Call it first, from one thread. Drops the numbers if they belong to other scales.
  void use(const FieldScales& scales);
  // Call it before asking for impacts in the window that starts at `from`. Any thread.
  void fill(std::uint32_t from);
  // For all places of the window that starts at `from`: raises scores[i] to weight times the impact
  // of payloads[i]. A payload of 0 means that the place has no posting.
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
  // One per kWindow documents.
  enum class State : std::uint8_t { empty, being_filled, filled };
  std::vector<std::atomic<State>> states_;
  std::vector<std::uint8_t> some_have_many_;
  // One per document, with room for a window behind the last. A gain of 0 marks a document with
  // several fields, whose impacts are computed individually.
  std::unique_ptr<float[]> gains_;
  std::unique_ptr<float[]> norms_;
};

}  // namespace reef::search
