#pragma once

#include "device/device.hpp"
#include "device/gpu/check.hpp"

namespace commlens::transport::peer {

template <class... Parameters, class... Arguments>
void launch_kernel(device::Stream& stream, unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  kernel<<<blocks, threads, 0, static_cast<gpuStream_t>(stream.native())>>>(arguments...);
  device::gpu::check(gpuGetLastError(), "kernel launch");
}

}  // namespace commlens::transport::peer
