// Arguments of the operator's kernels, on the host and on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sem/gll.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson.hpp"
#include "sem/trilinear.hpp"

namespace commlens::sem {

/// The GLL basis with `Nodes` points per direction. Kernels take it by value, so that a GPU has it in constant memory.
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

/// One call of apply(). Pointers are to the memory in which vectors lie.
struct PoissonCall {
  ElementRange elements;
  const double* input = nullptr;
  double* output = nullptr;
  double* energy = nullptr;
  bool add_energy = false;
  void* scratch = nullptr;                  ///< of launch_sum()
  const std::uint32_t* unknowns = nullptr;  ///< by node; nullptr: storage by element
  const Trilinear* maps = nullptr;          ///< by element
  const double* factors = nullptr;          ///< [element][term][node]; nullptr: computed from the maps
};

void apply_on_host(const Gll& gll, const PoissonCall& call, device::Stream& stream);
/// In a build with a GPU backend.
void apply_on_gpu(const Gll& gll, const PoissonCall& call, device::Stream& stream);

/// Calls function(std::integral_constant<int, n>) for n nodes per direction, from 2 to highest_order + 1.
template <int Nodes = 2, class Function>
void with_nodes(int nodes, Function function) {
  if constexpr (Nodes <= highest_order + 1) {
    if (nodes == Nodes) return function(std::integral_constant<int, Nodes>{});
    with_nodes<Nodes + 1>(nodes, function);
  }
}

}  // namespace commlens::sem
