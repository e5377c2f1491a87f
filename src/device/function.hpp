// Marks for functions that kernels call. A compiler that is not a GPU's sees nothing of them, and no vendor's header.
#pragma once

#if defined(__CUDACC__)
#define COMMLENS_GPU_COMPILER 1
#define COMMLENS_LAMBDA [=] __host__ __device__
#define COMMLENS_FUNCTION __host__ __device__
#elif defined(__HIPCC__)  // __host__ and __device__ are macros there, of a header of HIP
#define COMMLENS_GPU_COMPILER 1
#define COMMLENS_LAMBDA [=] __attribute__((host)) __attribute__((device))
#define COMMLENS_FUNCTION __attribute__((host)) __attribute__((device))
#else
#define COMMLENS_GPU_COMPILER 0
#define COMMLENS_LAMBDA [=]
#define COMMLENS_FUNCTION
#endif

/// A COMMLENS_FUNCTION is compiled twice; this is defined when it is compiled for the GPU.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define COMMLENS_GPU_CODE
#endif
