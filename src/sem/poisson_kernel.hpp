// What a kernel of the operator is given: the same on the host and on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sem/gll.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson.hpp"
#include "sem/trilinear.hpp"

namespace commlens::sem {

/// The interpolation on `Nodes` points in a direction; passed by value, so that a GPU has it among its constants.
template <int Nodes>
struct Basis {
  double derivative[Nodes][Nodes];
  double weights[Nodes];
  double points[Nodes];

  explicit Basis(const Gll& gll) {
    for (std::size_t i = 0; i < Nodes; ++i) {
      weights[i] = gll.weights[i];
      points[i] = gll.points[i];
      for (std::size_t j = 0; j < Nodes; ++j) derivative[i][j] = gll.derivative[i * Nodes + j];
    }
  }
};

/// One call of apply(). Pointers are into the memory of vectors.
struct PoissonCall {
  ElementRange elements;
  const double* input = nullptr;
  double* output = nullptr;
  double* energy = nullptr;
  bool add_energy = false;
  void* scratch = nullptr;                  ///< as launch_sum's
  const std::uint32_t* unknowns = nullptr;  ///< by node; nullptr: storage by element
  const Trilinear* maps = nullptr;          ///< by element
  const double* metric = nullptr;           ///< [element][term][node]; nullptr: from the maps
};

void apply_on_host(const Gll& gll, const PoissonCall& call, device::Stream& stream);
/// Of a GPU build.
void apply_on_gpu(const Gll& gll, const PoissonCall& call, device::Stream& stream);

/// function(std::integral_constant<int, n>) for the number of nodes in a direction, 2 … highest_order + 1.
template <int Nodes = 2, class Function>
void with_nodes(int nodes, Function function) {
  if constexpr (Nodes <= highest_order + 1) {
    if (nodes == Nodes) return function(std::integral_constant<int, Nodes>{});
    with_nodes<Nodes + 1>(nodes, function);
  }
}

}  // namespace commlens::sem
