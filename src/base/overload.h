// std::visit with one lambda per alternative.
#pragma once

namespace reef {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace reef
