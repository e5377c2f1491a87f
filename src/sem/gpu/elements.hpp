// What the operator's kernels have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "device/gpu/launch.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson_kernel.hpp"

namespace commlens::sem {

/// Hidden from nvcc, which would apply the mask to the 64 bits of an address: that takes four instructions more.
__device__ inline std::uint32_t place_of(std::uint32_t unknown) {
  std::uint32_t place = unknown & ~Numbering::by_several;
  gpuForget(place);
  return place;
}

template <class Real>
__device__ inline Real read_unknown(const Real* input, std::uint32_t unknown) {
  return unknown == Numbering::fixed ? Real{0} : input[place_of(unknown)];
}

/// Unknowns that only this element has are written, others are added to. Without `else`: these are predicates of
/// instructions then, not branches.
template <class Real>
__device__ inline void write_unknown(Real* output, std::uint32_t unknown, Real value) {
  Real* const place = output + place_of(unknown);
  const bool by_several = unknown >= Numbering::by_several;
  if (!by_several) *place = value;
  if (by_several && unknown != Numbering::fixed) gpuAtomicAdd(place, value);
}

/// The same, or subtracts from all.
template <class Real>
__device__ inline void write_unknown(Real* output, std::uint32_t unknown, Real value, bool subtract) {
  Real* const place = output + place_of(unknown);
  const bool adds = subtract || unknown >= Numbering::by_several;
  if (!adds) *place = value;
  if (adds && unknown != Numbering::fixed) gpuAtomicAdd(place, subtract ? -value : value);
}

/// The element that comes at a place of the traversal; places are numbered as elements are.
__device__ inline std::size_t element_at(const ElementRange& range, std::size_t place) {
  return range.traversal == device::Traversal::forward ? place : range.first + range.last - 1 - place;
}

/// No more than are resident: each block, of so many elements at a time, iterates over elements.
inline unsigned blocks_over(const ElementRange& range, std::size_t elements_of_block, unsigned resident) {
  const std::size_t count = range.last - range.first;
  const std::size_t wanted = std::max<std::size_t>(1, (count + elements_of_block - 1) / elements_of_block);
  return static_cast<unsigned>(std::min<std::size_t>(wanted, resident));
}

/// Queues the call on FP64 tensor cores, where there are tensor cores for it: CUDA, code for sm_80 or newer, order 7,
/// computed geometry. Elsewhere it returns false, and does nothing.
bool apply_on_tensor_cores(const Gll& gll, const PoissonCall<double>& call, device::Stream& stream);
inline bool apply_on_tensor_cores(const Gll& /*gll*/, const PoissonCall<float>& /*call*/, device::Stream& /*stream*/) {
  return false;
}

}  // namespace commlens::sem
