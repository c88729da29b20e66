// Words nobody ever wrote are most often misspelt. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace reef::search {

// How many letters may be wrong, missing, too many or swapped with the next; 0: it must be right.
std::size_t mistakes_allowed(std::string_view word);

// How many it takes from one to the other; nullopt: more than `most`.
std::optional<std::size_t> mistakes_between(std::string_view a, std::string_view b,
                                            std::size_t most);

}  // namespace reef::search
