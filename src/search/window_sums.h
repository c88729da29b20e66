// Sums scores for all documents of a window at a time. Pure functions that use the widest
// instructions of the machine, with the same results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/norms.h"

namespace reef::search {

// sums[i] += factor * worth[i]
void add_worth(float* sums, const std::uint8_t* worth, float factor);
// sums[i] += scores[i]
void add_scores(float* sums, const float* scores);
// Writes the places whose sum is at least `least` and above zero; returns how many. `places` must
// have room for one more than a window has.
std::size_t select_places(const float* sums, float least, std::uint16_t* places);

}  // namespace reef::search
