// Right-hand sides of bp5, and what can be known of a solution without having solved anything: how often each node is
// there, what the operator gives on an element, and what the residual must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "sem/conjugate_gradients.hpp"
#include "sem/mesh.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson.hpp"
#include "transport/communicator.hpp"

namespace commlens::known_poisson {

/// By node. nekrs: 3 pi^2 sin(pi x) sin(pi y) sin(pi z), as nekRS's case has it, with no mass matrix. manufactured: the
/// same of cosines, times the mass matrix, so that the solution is cos(pi x) cos(pi y) cos(pi z).
enum class RightHandSide { nekrs, manufactured };
std::vector<double> right_hand_side(const sem::Mesh& mesh, RightHandSide kind);

/// By node: how many elements of all ranks have it, from its place in the lattice; 0 on the boundary of the domain.
std::vector<double> multiplicities(const sem::Mesh& mesh);

/// Values of nodes in a vector: as they are, without those on the boundary; or added up by unknown.
std::vector<double> to_vector(const std::vector<double>& nodal, const sem::Mesh& mesh, const sem::Numbering& numbering,
                              sem::Storage storage);

/// What is wrong with `found`, which is to_vector(1) after the gather-scatter; empty if nothing is.
std::string wrong_multiplicity(const std::vector<double>& found, const sem::Mesh& mesh, const sem::Numbering& numbering,
                               sem::Storage storage);

/// The largest difference between x and the manufactured solution, over its largest value, of this rank.
double error_of(const std::vector<double>& x, const sem::Mesh& mesh, const sem::Numbering& numbering,
                sem::Storage storage);

/// Compares `image`, which is A x, inside a few elements with the operator written out: with metric terms from
/// differentiated coordinates, sums over all nodes and no trick. Empty if all agree to `tolerance` of the largest
/// value.
std::string wrong_element(const std::vector<double>& x, const std::vector<double>& image, const sem::Mesh& mesh,
                          const sem::Numbering& numbering, sem::Storage storage, double tolerance);

/// Inner products over all ranks, each of which waits for the stream. `scratch` is launch_sum's, followed by one
/// double.
class InnerProducts {
 public:
  InnerProducts(const sem::VectorSpace& space, void* scratch, device::Stream& stream,
                const transport::Communicator& communicator)
      : space_(space), scratch_(scratch), stream_(stream), communicator_(communicator) {}

  [[nodiscard]] double product(const double* a, const double* b) const;
  [[nodiscard]] double norm(const double* a) const;
  /// |b - image - r|, which is 0 if `image` is A x and r the residual.
  [[nodiscard]] double difference(const double* b, const double* image, const double* r) const;

 private:
  template <class Function>
  double sum(Function function) const;

  sem::VectorSpace space_;
  void* scratch_;
  device::Stream& stream_;
  const transport::Communicator& communicator_;
};

}  // namespace commlens::known_poisson
