// Kernels that several methods use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "gather_scatter/lists.hpp"

namespace commlens::gather_scatter {

/// Combines the nodes of local groups.
void combine_local(const ValueKind& kind, const Lists& lists, void* data, device::Stream& stream);

/// One value of the exchange type per shared group and field. Group g and field f have element
/// indices[g] + f * stride, or g + f * stride without indices.
struct Values {
  void* data = nullptr;
  const std::uint32_t* indices = nullptr;
  std::size_t stride = 0;
};

/// Combines the nodes of each shared group into its value.
void gather(const ValueKind& kind, const Lists& lists, const void* data, const Values& values, device::Stream& stream);
/// Sets the nodes of each shared group to its value.
void scatter(const ValueKind& kind, const Lists& lists, const Values& values, void* data, device::Stream& stream);

}  // namespace commlens::gather_scatter
