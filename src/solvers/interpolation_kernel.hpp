// Arguments of the kernels that interpolate between two polynomial orders, on the host and on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "sem/poisson.hpp"

namespace commlens::solvers {

/// output += (M x M x M) (input_weights * input) by element, where M is a matrix of to x from.
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

void interpolate_on_host(const InterpolationCall& call, device::Stream& stream);
/// In a build with a GPU backend.
void interpolate_on_gpu(const InterpolationCall& call, device::Stream& stream);

}  // namespace commlens::solvers
