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
template <class Real, int Nodes>
struct Basis {
  Real derivative[Nodes][Nodes];
  Real weights[Nodes];
  Real points[Nodes];

  explicit Basis(const Gll& gll) {
    for (std::size_t i = 0; i < Nodes; ++i) {
      weights[i] = static_cast<Real>(gll.weights[i]);
      points[i] = static_cast<Real>(gll.points[i]);
      for (std::size_t j = 0; j < Nodes; ++j) derivative[i][j] = static_cast<Real>(gll.derivative[i * Nodes + j]);
    }
  }
};

/// One call of apply(). Pointers are to the memory in which vectors lie.
template <class Real>
struct PoissonCall {
  ElementRange elements;
  const Real* input = nullptr;
  Real* output = nullptr;
  bool subtract = false;                    ///< from the output
  double* energy = nullptr;                 ///< added to; nullptr: nobody asks for it
  const std::uint32_t* unknowns = nullptr;  ///< by node; nullptr: storage by element
  const TrilinearOf<Real>* maps = nullptr;  ///< by element
  const Real* factors = nullptr;            ///< [element][term][node]; nullptr: computed from the maps
};

/// For double and float, as apply_on_gpu().
template <class Real>
void apply_on_host(const Gll& gll, const PoissonCall<Real>& call, device::Stream& stream);
/// In a build with a GPU backend. In float with unique storage only.
template <class Real>
void apply_on_gpu(const Gll& gll, const PoissonCall<Real>& call, device::Stream& stream);

/// Calls function(std::integral_constant<int, n>) for n nodes per direction, from 2 to highest_order + 1.
template <int Nodes = 2, class Function>
void with_nodes(int nodes, Function function) {
  if constexpr (Nodes <= highest_order + 1) {
    if (nodes == Nodes) return function(std::integral_constant<int, Nodes>{});
    with_nodes<Nodes + 1>(nodes, function);
  }
}

}  // namespace commlens::sem
