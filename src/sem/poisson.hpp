// The operator of CEED's bake-off problem 5: A u of -laplace u = f on the elements of a rank, before values are
// combined with other ranks (Fischer et al., Scalability of high-performance PDE solvers, IJHPCA 34, 2020).
//
//   A = sum over elements of D^T G D,  G_ab = w J (grad r_a . grad r_b), collocated on the GLL points
//
// Vectors are stored in one of two ways: by element, with a place for every node of every element, so that the output
// remains to be combined between elements; or by unknown, each once, where elements gather their input and add their
// output. The geometric factors G are either stored, or computed from the eight vertices of the element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/enum_names.hpp"
#include "device/device.hpp"
#include "sem/mesh.hpp"
#include "sem/numbering.hpp"
#include "transport/context.hpp"

namespace commlens::sem {

/// Where the geometric factors come from.
enum class Geometry { stored, trilinear };
ENUM_NAMES(Geometry, {stored, "stored"}, {trilinear, "trilinear"});

/// Of vectors.
enum class Storage { element, unique };
ENUM_NAMES(Storage, {element, "element"}, {unique, "unique"});

/// A rank's elements [first, last).
struct ElementRange {
  std::size_t first = 0;
  std::size_t last = 0;
  device::Traversal traversal = device::Traversal::forward;
};

/// In double or in float.
template <class Real>
class Poisson {
 public:
  virtual ~Poisson() = default;

  /// Queues: output = A input for the elements of the range, and *energy = input . A input of these elements, or, with
  /// `add_energy`, *energy += that; without `energy` it is not computed. With storage by element the output of the
  /// range is written. With unique storage elements write the unknowns that no other node of the rank has, and add to
  /// the others, whose output must be 0 before the first range. Nodes on the boundary count as 0 with unique storage;
  /// with storage by element their input must be 0, and their output is not 0.
  virtual void apply(ElementRange elements, const Real* input, Real* output, double* energy, bool add_energy,
                     device::Stream& stream) = 0;
};

/// For vectors in the context's memory. `numbering` is used with unique storage only, and need not outlive it. For
/// double, and, with unique storage, for float.
template <class Real>
std::unique_ptr<Poisson<Real>> make_poisson(const Mesh& mesh, const Numbering& numbering, Geometry geometry,
                                            Storage storage, const Context& context);

}  // namespace commlens::sem
