// Stands in for gpu/ in a build without a GPU backend, in which no memory is a GPU's.
#include "device/error.hpp"
#include "sem/poisson_kernel.hpp"

namespace commlens::sem {

void apply_on_gpu(const Gll& /*gll*/, const PoissonCall& /*call*/, device::Stream& /*stream*/) {
  throw Error("this build has no GPU backend; configure with the preset cuda or hip");
}

}  // namespace commlens::sem
