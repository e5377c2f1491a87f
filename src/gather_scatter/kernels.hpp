// Kernels that several methods use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "gather_scatter/lists.hpp"

namespace commlens::gather_scatter {

/// Combines the nodes that are shared inside the rank only.
void combine_local(const Kind& kind, const Lists& lists, void* data, device::Stream& stream);

/// One value of the wire's type a shared group and field. That of group g and field f is element
/// places[g] + f * stride, or g + f * stride without places.
struct Values {
  void* data = nullptr;
  const std::uint32_t* places = nullptr;
  std::size_t stride = 0;
};

/// Each shared group's nodes combined, into the values; and the values, given to each shared group's nodes.
void gather(const Kind& kind, const Lists& lists, const void* data, const Values& values, device::Stream& stream);
void scatter(const Kind& kind, const Lists& lists, const Values& values, void* data, device::Stream& stream);

}  // namespace commlens::gather_scatter
