// What can be known of vectors without having solved anything: how many elements have a node, what the operator gives
// inside an element, and the manufactured solution of a right-hand side.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "benchmarks/spectral_elements/vector_layout.hpp"
#include "device/device.hpp"
#include "sem/mesh.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// Right-hand sides. nekrs: 3 pi^2 sin(pi x) sin(pi y) sin(pi z), as in nekRS's case, without the mass matrix.
/// manufactured: the same with cosines, times the mass matrix, so that the solution is cos(pi x) cos(pi y) cos(pi z).
enum class RightHandSide { nekrs, manufactured };
ENUM_NAMES(RightHandSide, {nekrs, "nekrs"}, {manufactured, "manufactured"});

/// By node.
std::vector<double> right_hand_side(const sem::Mesh& mesh, RightHandSide kind);

/// Of RightHandSide::manufactured.
double manufactured_solution(const sem::Point& point);

/// What is wrong with `counts`, the gather-scatter of a vector of ones by node; empty if nothing is.
std::string wrong_multiplicity(const std::vector<double>& counts, const VectorLayout& layout);

/// What the vectors of a solve show by themselves.
struct Inspection {
  std::string error;         ///< where A x differs from the reference operator inside an element; empty: nowhere
  double largest_error = 0;  ///< from the manufactured solution, whose largest value is 1, on any rank
};

/// Of x and of `image`, which is A x, in the stream's memory. Collective; waits for the stream.
Inspection inspect(const double* x, const double* image, const VectorLayout& layout, device::Stream& stream,
                   const transport::Communicator& communicator);

}  // namespace commlens
