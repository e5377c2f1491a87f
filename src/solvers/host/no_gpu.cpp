// Stands in for gpu/ in a build without a GPU backend, in which no memory is a GPU's.
#include "base/error.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

[[noreturn]] void refuse() { throw Error("this build has no GPU backend; configure with the preset cuda or hip"); }

}  // namespace

void schwarz_on_gpu(int /*order*/, const SchwarzCall& /*call*/, device::Stream& /*stream*/) { refuse(); }
void interpolate_on_gpu(const InterpolationCall& /*call*/, device::Stream& /*stream*/) { refuse(); }

}  // namespace commlens::solvers
