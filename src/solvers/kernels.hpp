// Arguments of the kernels of the Schwarz smoother and of interpolation, on the host and on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/device.hpp"
#include "sem/gll.hpp"
#include "sem/poisson.hpp"

namespace commlens::solvers {

/// How the eigenvectors of an element are stored: for each direction a matrix of n = order + 3 rows, one per node, of
/// `row` floats (n, and padding, so that rows can be read in vectors of 4), and then 3 n eigenvalues, padded likewise.
struct EigenLayout {
  static constexpr std::size_t row(std::size_t n) { return (n + 3) / 4 * 4; }
  static constexpr std::size_t matrix(std::size_t n) { return n * row(n); }
  static constexpr std::size_t element(std::size_t n) { return 3 * matrix(n) + 3 * row(n); }
};

/// output += weights * (solution of the extended problem of each element, at the element's own nodes).
struct SchwarzCall {
  sem::ElementRange elements;
  const float* input = nullptr;  ///< with ghosts
  float* output = nullptr;
  const std::uint32_t* unknowns = nullptr;   ///< by node
  const std::uint32_t* neighbors = nullptr;  ///< Extension::neighbors
  const float* eigen = nullptr;              ///< EigenLayout, by element
  const float* weights = nullptr;            ///< by unknown
};

void schwarz_on_host(int order, const SchwarzCall& call, device::Stream& stream);
/// In a build with a GPU backend.
void schwarz_on_gpu(int order, const SchwarzCall& call, device::Stream& stream);

/// For kernels that are compiled for each order: calls function(std::integral_constant<int, n>) for n = order + 3, for
/// orders from 2 to sem::highest_order.
template <int Order = 2, class Function>
void with_extended_nodes(int order, Function function) {
  if constexpr (Order <= sem::highest_order) {
    if (order == Order) return function(std::integral_constant<int, Order + 3>{});
    with_extended_nodes<Order + 1>(order, function);
  }
}

/// Between two polynomial orders: output = (M x M x M) (input_weights * input) by element, where M is a matrix of to x
/// from. Added to where Numbering::by_several is set.
struct InterpolationCall {
  sem::ElementRange elements;
  int from = 0;  ///< nodes in each direction, of the input
  int to = 0;    ///< of the output
  const float* matrix = nullptr;
  const float* input = nullptr;
  float* output = nullptr;
  const std::uint32_t* input_unknowns = nullptr;  ///< by node
  const std::uint32_t* output_unknowns = nullptr;
  const float* input_weights = nullptr;  ///< by unknown; nullptr: 1
};

/// Conjugate gradients for a matrix whose rows have 27 entries, as the operator of order 1 has on a box of elements.
struct CoarseCgCall {
  static constexpr std::size_t entries = 27;

  std::size_t rows = 0;
  std::size_t steps = 0;
  const std::uint32_t* columns = nullptr;  ///< [entry][row]; what a row lacks is 0 in any column
  const float* values = nullptr;           ///< likewise
  const float* inverse = nullptr;          ///< of the diagonal
  const float* b = nullptr;
  float* x = nullptr;
  double* exchanged = nullptr;  ///< 2 vectors
  double* sums = nullptr;       ///< 4 for each of coarse_cg_blocks()
};

/// In a build with a GPU backend. 0: these rows need more threads than the GPU holds at the same time.
std::size_t coarse_cg_blocks(std::size_t rows);
void coarse_cg_on_gpu(const CoarseCgCall& call, device::Stream& stream);

void interpolate_on_host(const InterpolationCall& call, device::Stream& stream);
/// In a build with a GPU backend.
void interpolate_on_gpu(const InterpolationCall& call, device::Stream& stream);

}  // namespace commlens::solvers
