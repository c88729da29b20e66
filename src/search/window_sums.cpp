#include "search/window_sums.h"

#include <algorithm>
#include <limits>

namespace reef::search {
namespace {

constexpr std::size_t kWindow = Norms::kWindow;
// The number of places compared at once.
constexpr std::size_t kLanes = 16;

// Each function is written once and compiled twice: for any machine, and for machines with wider
// registers. There is no fused multiply-add, so both give the same results.
[[gnu::always_inline]] inline void add_worth_as(float* __restrict sums,
                                                const std::uint8_t* __restrict worth,
                                                float factor) {
  for (std::size_t i = 0; i < kWindow; ++i) sums[i] += factor * static_cast<float>(worth[i]);
}

[[gnu::always_inline]] inline void add_scores_as(float* __restrict sums,
                                                 const float* __restrict scores) {
  for (std::size_t i = 0; i < kWindow; ++i) sums[i] += scores[i];
}

[[gnu::always_inline]] inline std::size_t select_places_as(const float* __restrict sums,
                                                           float least,
                                                           std::uint16_t* __restrict places) {
  least = std::max(least, std::numeric_limits<float>::min());
  std::size_t count = 0;
  for (std::size_t lane = 0; lane < kWindow; lane += kLanes) {
    unsigned any = 0;
    for (std::size_t i = lane; i < lane + kLanes; ++i) any |= sums[i] >= least ? 1U : 0U;
    if (any == 0) continue;
    for (std::size_t i = lane; i < lane + kLanes; ++i) {
      places[count] = static_cast<std::uint16_t>(i);
      count += sums[i] >= least ? 1 : 0;
    }
  }
  return count;
}

struct Loops {
  void (*add_worth)(float*, const std::uint8_t*, float);
  void (*add_scores)(float*, const float*);
  std::size_t (*select_places)(const float*, float, std::uint16_t*);
};

namespace plain {
void add_worth(float* sums, const std::uint8_t* worth, float factor) {
  add_worth_as(sums, worth, factor);
}
void add_scores(float* sums, const float* scores) {
  add_scores_as(sums, scores);
}
std::size_t select_places(const float* sums, float least, std::uint16_t* places) {
  return select_places_as(sums, least, places);
}
}  // namespace plain

#if defined(__x86_64__)
namespace wide {
[[gnu::target("avx2")]] void add_worth(float* sums, const std::uint8_t* worth, float factor) {
  add_worth_as(sums, worth, factor);
}
[[gnu::target("avx2")]] void add_scores(float* sums, const float* scores) {
  add_scores_as(sums, scores);
}
[[gnu::target("avx2")]] std::size_t select_places(const float* sums, float least,
                                                  std::uint16_t* places) {
  return select_places_as(sums, least, places);
}
}  // namespace wide
#endif

Loops choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return {wide::add_worth, wide::add_scores, wide::select_places};
#endif
  return {plain::add_worth, plain::add_scores, plain::select_places};
}

const Loops kLoops = choose();

}  // namespace

void add_worth(float* sums, const std::uint8_t* worth, float factor) {
  kLoops.add_worth(sums, worth, factor);
}
void add_scores(float* sums, const float* scores) {
  kLoops.add_scores(sums, scores);
}
std::size_t select_places(const float* sums, float least, std::uint16_t* places) {
  return kLoops.select_places(sums, least, places);
}

}  // namespace reef::search
