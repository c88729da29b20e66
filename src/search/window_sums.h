// Sums of scores for all documents of a window at a time. Pure; the widest instructions the machine
// has are used, with the same results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/norms.h"

namespace reef::search {

// sums[i] += factor * worth[i]
void add_worth(float* sums, const std::uint8_t* worth, float factor);
// sums[i] += scores[i]
void add_scores(float* sums, const float* scores);
// The places whose sum is at least `least` and more than nothing; returns how many. `places` has
// room for one more than a window has.
std::size_t select_places(const float* sums, float least, std::uint16_t* places);

}  // namespace reef::search
