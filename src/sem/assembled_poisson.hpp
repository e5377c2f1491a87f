// The operator with its output combined over elements and over ranks. Elements that touch those of other ranks come
// first; the others are computed while the messages of their nodes are in flight.
#pragma once

#include <cstddef>

#include "gather_scatter/gather_scatter.hpp"
#include "sem/poisson.hpp"

namespace commlens::sem {

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
    poisson_.apply({0, boundary_elements_, traversal}, input, output, energy, false, stream);
    if (boundary_elements_ == elements_) return gather_scatter_.apply(output, stream);
    gather_scatter_.start(output, stream);
    poisson_.apply({boundary_elements_, elements_, traversal}, input, output, energy, true, stream);
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
