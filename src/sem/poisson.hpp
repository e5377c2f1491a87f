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
#include <memory>

#include "base/enum_names.hpp"
#include "device/device.hpp"
#include "gather_scatter/gather_scatter.hpp"
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

  /// Queues: output = A input for the elements of the range, and *energy += input . A input of these elements, in any
  /// order; without `energy` it is not computed. With storage by element the output of the
  /// range is written. With unique storage elements write the unknowns that no other node of the rank has, and add to
  /// the others, whose output must be 0 before the first range. Nodes on the boundary count as 0 with unique storage;
  /// with storage by element their input must be 0, and their output is not 0.
  virtual void apply(ElementRange elements, const Real* input, Real* output, double* energy,
                     device::Stream& stream) = 0;
  /// Queues: vector -= A input, with unique storage, for the elements of the range.
  virtual void subtract(ElementRange elements, const Real* input, Real* vector, device::Stream& stream) = 0;
};

/// For vectors in the context's memory. `numbering` is used with unique storage only, and need not outlive it. For
/// double, and, with unique storage, for float.
template <class Real>
std::unique_ptr<Poisson<Real>> make_poisson(const Mesh& mesh, const Numbering& numbering, Geometry geometry,
                                            Storage storage, const Context& context);

/// What a rank has, as far as memory depends on it.
struct Load {
  double elements = 0;
  double nodes = 0;  ///< of all elements
};

/// An upper estimate, for choosing sizes before a mesh is made: bytes that make_poisson() allocates for double.
double upper_bytes(const Load& load, Geometry geometry, Storage storage);

/// The operator with its output combined over elements and over ranks. Elements that touch those of other ranks come
/// first; the others are computed while the messages of their nodes are in flight.
template <class Real>
class AssembledPoisson {
 public:
  /// `gather_scatter` is that of the vectors: with storage by element also of nodes inside the rank. Both operators
  /// must outlive this one.
  AssembledPoisson(Poisson<Real>& poisson, gather_scatter::GatherScatter& gather_scatter, std::size_t boundary_elements,
                   std::size_t elements, bool overlap)
      : poisson_(poisson),
        gather_scatter_(gather_scatter),
        boundary_elements_(overlap ? boundary_elements : elements),
        elements_(elements) {}

  /// As solvers::Apply; without `energy` that is not computed.
  void apply(const Real* input, Real* output, double* energy, device::Stream& stream,
             device::Traversal traversal = device::Traversal::forward) {
    poisson_.apply({0, boundary_elements_, traversal}, input, output, energy, stream);
    if (boundary_elements_ == elements_) return gather_scatter_.apply(output, stream);
    gather_scatter_.start(output, stream);
    poisson_.apply({boundary_elements_, elements_, traversal}, input, output, energy, stream);
    if (!stream.on_gpu()) stream.wait();  // a host stream works only while somebody waits for it
    gather_scatter_.local(output, stream);
    gather_scatter_.finish(output, stream);
  }

 private:
  Poisson<Real>& poisson_;
  gather_scatter::GatherScatter& gather_scatter_;
  std::size_t boundary_elements_;
  std::size_t elements_;
};

}  // namespace commlens::sem
