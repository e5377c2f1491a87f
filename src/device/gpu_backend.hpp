// Whether the build has a GPU backend. In a header of its own: what does not include it is the same in every build, and
// a compiler's cache has it.
#pragma once

namespace commlens::device {

#if defined(COMMLENS_CUDA) || defined(COMMLENS_HIP)
inline constexpr bool has_gpu_backend = true;
#else
inline constexpr bool has_gpu_backend = false;
#endif

}  // namespace commlens::device
