// What was read of a transcript, as the index takes it. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "recall/reading.h"
#include "search/index.h"

namespace reef::recall {

using AddDocument =
    std::function<void(const search::DocumentRow&, std::span<const search::FieldText>)>;

// One message; `ordinal` is its number in the session.
void feed(const Read& read, std::uint32_t group, std::uint32_t ordinal, const AddDocument& add);

// All of a session that the index knows nothing of yet; returns how many messages it has. Of
// several titles the last counts.
std::uint32_t feed_all(const std::vector<Read>& reads, std::uint32_t group, const AddDocument& add);

}  // namespace reef::recall
