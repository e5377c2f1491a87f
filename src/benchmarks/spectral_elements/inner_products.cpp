#include "benchmarks/spectral_elements/inner_products.hpp"

#include <cmath>

#include "device/launch.hpp"
#include "device/upload.hpp"

namespace commlens {

InnerProducts::InnerProducts(const solvers::VectorSpace& space, const Context& context)
    : space_(space),
      communicator_(context.communicator),
      stream_(context.stream),
      scratch_(context.allocate(device::sum_scratch_bytes)),
      result_(context.allocate(sizeof(double))) {
  stream_.fill(scratch_.data(), 0, scratch_.bytes());
}

template <class Function>
double InnerProducts::sum(Function function) const {
  device::launch_sum(stream_, space_.length, scratch_.data(), result_.as<double>(), function);
  return communicator_.sum_of_reals(device::download(result_.as<double>(), stream_));
}

double InnerProducts::product(const double* a, const double* b) const {
  const solvers::Weighing weighing(space_);
  return sum(COMMLENS_LAMBDA(std::size_t i) { return weighing.weight(i) * a[i] * b[i]; });
}

double InnerProducts::norm(const double* a) const { return std::sqrt(product(a, a)); }

double InnerProducts::difference(const double* b, const double* image, const double* r) const {
  const solvers::Weighing weighing(space_);
  return std::sqrt(sum(COMMLENS_LAMBDA(std::size_t i) {
    const double difference = b[i] - image[i] - (r == nullptr ? 0.0 : r[i]);
    return weighing.weight(i) * difference * difference;
  }));
}

void invert(double* values, std::size_t count, device::Stream& stream) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { values[i] = values[i] == 0 ? 0.0 : 1 / values[i]; });
}

}  // namespace commlens
