// Stands in for gpu/ in a build without a GPU backend, in which no memory is a GPU's.
#include "base/error.hpp"
#include "sem/poisson_kernel.hpp"

namespace commlens::sem {

template <class Real>
void apply_on_gpu(const Gll& /*gll*/, const PoissonCall<Real>& /*call*/, device::Stream& /*stream*/) {
  throw Error("this build has no GPU backend; configure with the preset cuda or hip");
}

template void apply_on_gpu(const Gll&, const PoissonCall<double>&, device::Stream&);
template void apply_on_gpu(const Gll&, const PoissonCall<float>&, device::Stream&);

}  // namespace commlens::sem
