// Hands what was read of a transcript to the index. Pure functions.
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

// Adds one message; `ordinal` is its number in the session.
void feed(const Read& read, std::uint32_t group, std::uint32_t ordinal, const AddDocument& add);

// Adds a whole session that the index does not know yet; returns how many messages it has. Only the
// last of several titles counts.
std::uint32_t feed_all(const std::vector<Read>& reads, std::uint32_t group, const AddDocument& add);

}  // namespace reef::recall
