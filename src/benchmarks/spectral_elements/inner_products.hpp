// Inner products over all ranks, computed apart from the solver that they check.
#pragma once

#include <cstddef>

#include "device/device.hpp"
#include "solvers/conjugate_gradients.hpp"
#include "transport/communicator.hpp"
#include "transport/context.hpp"

namespace commlens {

/// Of vectors in the context's memory. All of these are collective, and wait for the stream.
class InnerProducts {
 public:
  InnerProducts(const solvers::VectorSpace& space, const Context& context);

  [[nodiscard]] double product(const double* a, const double* b) const;
  [[nodiscard]] double norm(const double* a) const;
  /// |b - image - r|, which is 0 if `image` is A x and r the residual; without r |b - image|.
  [[nodiscard]] double difference(const double* b, const double* image, const double* r) const;

 private:
  template <class Function>
  double sum(Function function) const;

  solvers::VectorSpace space_;
  const transport::Communicator& communicator_;
  device::Stream& stream_;
  device::Buffer scratch_;
  device::Buffer result_;
};

/// Queues 1 over every element; what is 0 stays 0.
void invert(double* values, std::size_t count, device::Stream& stream);

}  // namespace commlens
