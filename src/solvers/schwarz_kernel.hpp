// Arguments of the Schwarz smoother's kernels, on the host and on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
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

}  // namespace commlens::solvers
