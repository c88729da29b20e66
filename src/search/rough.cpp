#include "search/rough.h"

#include <algorithm>
#include <cmath>

namespace reef::search {
namespace {

// A clause suits when at least one document in this many has it.
constexpr std::uint64_t kShare = 10;
constexpr std::size_t kBytesMax = 32U << 20;
// A Rough unused for this many searches may be replaced.
constexpr std::uint64_t kStaleSearches = 1000;
// A Rough is computed anew once the averages have drifted by more than this factor.
constexpr float kDriftMax = 1.01F;
constexpr float kSteps = 255;

std::size_t windows_of(std::uint32_t documents) {
  return documents / Norms::kWindow + 1;
}

}  // namespace

bool RoughShelf::suits(std::uint64_t df, std::uint32_t documents) {
  return df * kShare >= documents;
}

bool RoughShelf::make_room(std::uint32_t documents) {
  const auto each = windows_of(documents) * Norms::kWindow;
  if ((shelf_.size() + 1) * each <= kBytesMax) return true;
  const auto oldest = std::min_element(shelf_.begin(), shelf_.end(), [](auto& a, auto& b) {
    return a.second->used < b.second->used;
  });
  if (oldest == shelf_.end() || searches_ - oldest->second->used < kStaleSearches) return false;
  shelf_.erase(oldest);
  return true;
}

RoughView RoughShelf::find(const std::string& name, float weight, Matcher& reading,
                           const FieldScales& scales, std::uint32_t documents) {
  auto known = shelf_.find(name);
  // The factors by which scores may have grown and shrunk since the Rough was made.
  float growth = 1, shrinkage = 1;
  if (known != shelf_.end()) {
    growth = scales.growth_from(known->second->scales);
    shrinkage = known->second->scales.growth_from(scales);
    if (growth * shrinkage > kDriftMax) {
      shelf_.erase(known);
      known = shelf_.end();
    }
  }
  if (known == shelf_.end()) {
    growth = shrinkage = 1;
    if (weight <= 0 || reading.bound() <= 0 || !make_room(documents)) return {};
    auto made = std::make_unique<Rough>();
    made->scales = scales;
    made->step = reading.bound() / weight / kSteps;
    made->worth.resize(windows_of(documents) * Norms::kWindow);
    const float steps = 1 / (made->step * weight);
    auto* worth = made->worth.data();
    reading.visit_all(documents, [&](std::uint32_t document, float score) {
      // Rounds up, so that it is never too low.
      const auto up = static_cast<std::uint8_t>(std::min(score * steps, kSteps - 1) + 1);
      worth[document] = std::max(worth[document], up);
    });
    made->most.resize(windows_of(documents));
    for (std::size_t w = 0; w < made->most.size(); ++w)
      made->most[w] =
          *std::max_element(worth + w * Norms::kWindow, worth + (w + 1) * Norms::kWindow);
    known = shelf_.emplace(name, std::move(made)).first;
  }
  auto& rough = *known->second;
  rough.used = searches_;
  RoughView view{&rough, weight * rough.step * growth, 0};
  view.too_much = view.factor * (1 + kSteps * (1 - 1 / (growth * shrinkage)));
  return view;
}

}  // namespace reef::search
