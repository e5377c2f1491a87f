// Calls with the number of nodes of an extended element as a constant: for kernels that are compiled for each order.
#pragma once

#include <type_traits>

#include "sem/gll.hpp"

namespace commlens::solvers {

/// Calls function(std::integral_constant<int, n>) for n = order + 3, for orders from 2 to sem::highest_order.
template <int Order = 2, class Function>
void with_extended_nodes(int order, Function function) {
  if constexpr (Order <= sem::highest_order) {
    if (order == Order) return function(std::integral_constant<int, Order + 3>{});
    with_extended_nodes<Order + 1>(order, function);
  }
}

}  // namespace commlens::solvers
