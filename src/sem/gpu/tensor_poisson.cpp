#include "sem/gpu/elements.hpp"

#if defined(COMMLENS_CUDA)

#include "device/gpu/occupancy.hpp"
#include "sem/gpu/tensor_kernel.hpp"

namespace commlens::sem {

namespace {

template <class Kernel>
unsigned resident_blocks_of(Kernel kernel) {
  device::gpu::set_shared_memory(kernel, tensor::at_once);
  return device::gpu::resident_blocks(kernel, tensor::threads, 0);
}

template <Storage storage>
bool launch_kernel(const Gll& gll, const PoissonCall<double>& call, gpuStream_t stream) {
  const auto kernel = tensor::apply_kernel<storage>;
  static const bool supported = device::gpu::has_tensor_cores(kernel);
  if (!supported) return false;
  static const unsigned resident = resident_blocks_of(kernel);
  const unsigned blocks = blocks_over(call.elements, 1, resident);
  device::gpu::launch_dependent<tensor::apply_kernel<storage>>(blocks, tensor::threads, 0, stream, call,
                                                               tensor::Constants(gll));
  return true;
}

}  // namespace

bool apply_on_tensor_cores(const Gll& gll, const PoissonCall<double>& call, device::Stream& stream) {
  if (gll.points.size() != tensor::points || call.factors != nullptr || call.subtract) return false;
  auto* const native = static_cast<gpuStream_t>(stream.native());
  return call.unknowns != nullptr ? launch_kernel<Storage::unique>(gll, call, native)
                                  : launch_kernel<Storage::element>(gll, call, native);
}

}  // namespace commlens::sem

#else

namespace commlens::sem {

bool apply_on_tensor_cores(const Gll& /*gll*/, const PoissonCall<double>& /*call*/, device::Stream& /*stream*/) {
  return false;
}

}  // namespace commlens::sem

#endif
