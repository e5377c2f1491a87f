// What can be known of vectors without having solved anything: how many elements have a node, what the operator gives
// inside an element, and the manufactured solution.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/spectral_elements/vector_layout.hpp"
#include "device/device.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// What is wrong with `found`, the gather-scatter of a vector of ones by node; empty if nothing is.
std::string wrong_multiplicity(const std::vector<double>& found, const VectorLayout& layout);

/// The largest difference between x and the manufactured solution, whose largest value is 1, on this rank.
double error_of(const std::vector<double>& x, const VectorLayout& layout);

/// What the vectors of a solve show by themselves.
struct Inspection {
  std::string error;         ///< of wrong_element()
  double largest_error = 0;  ///< of error_of(), on any rank
};

/// Of x and of `image`, which is A x, in the stream's memory. Collective; waits for the stream.
Inspection inspect(const double* x, const double* image, const VectorLayout& layout, device::Stream& stream,
                   const transport::Communicator& communicator);

/// Compares `image`, which is A x, inside some elements with the reference operator. Empty if all agree to `tolerance`
/// of the largest value.
std::string wrong_element(const std::vector<double>& x, const std::vector<double>& image, const VectorLayout& layout,
                          double tolerance);

}  // namespace commlens
