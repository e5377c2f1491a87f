// The operator of CEED's bake-off problem 5: A u of -laplace u = f on a rank's elements, before anything is combined
// with other ranks (Fischer et al., Scalability of high-performance PDE solvers, IJHPCA 34, 2020).
//
//   A = sum over elements of D^T G D,  G_ab = w J (grad r_a . grad r_b), collocated on the GLL points
//
// Vectors are stored in one of two ways: by element, where every node of every element has a place, so that what comes
// out is still to be combined between elements; or once an unknown, where elements gather what they need and add what
// they have. And G is read, or computed from the eight vertices of the element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/device.hpp"
#include "sem/mesh.hpp"
#include "sem/numbering.hpp"

namespace commlens::sem {

enum class Geometry { stored, trilinear };
enum class Storage { element, unique };

/// A rank's elements [first, last).
struct ElementRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

class Poisson {
 public:
  virtual ~Poisson() = default;

  /// Queues: output = A input for the elements of the range, and *energy = input . A input of them, or that is added to
  /// it. With unique storage `output` holds zeros before the first range: an unknown of several elements is added to,
  /// one of a single element may be written instead. With storage by element it is written to the elements' places.
  /// Nodes of no unknown are 0 with unique storage; with storage by element their input must be 0 and their output is
  /// not.
  virtual void apply(ElementRange elements, const double* input, double* output, double* energy, bool add_energy,
                     device::Stream& stream) = 0;
};

using Allocate = std::function<device::Buffer(std::size_t bytes)>;

/// In `memory`, where vectors lie, on whose streams it works. `numbering` is asked for unique storage only, and need
/// not outlive it. Fills its lists on `stream`.
std::unique_ptr<Poisson> make_poisson(const Mesh& mesh, const Numbering& numbering, Geometry geometry, Storage storage,
                                      device::Memory memory, const Allocate& allocate, device::Stream& stream);

/// What make_poisson() allocates, in bytes.
double poisson_bytes(std::size_t elements, int order, Geometry geometry, Storage storage);

}  // namespace commlens::sem
