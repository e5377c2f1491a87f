/* The part of CUDA's driver that the tests call, and what only the fake of it has. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int cuMemAlloc_v2(void** pointer, size_t bytes);
int cuMemAllocManaged(void** pointer, size_t bytes, unsigned flags);
int cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags);
int cuMemFree_v2(void* pointer);
int cuStreamSynchronize(void* stream);
int cuDevicePrimaryCtxRetain(void** context, int number);
int cuPointerGetAttributes(unsigned count, int* attributes, void** values, unsigned long long pointer);

/* Makes the GPU the thread's current one. */
void fake_gpu_use(int number);
/* The same with a context that is not the primary one. */
void fake_gpu_use_other_context(int number);
/* Bytes that have been copied from the GPU to pinned memory, or from there to the GPU. */
size_t fake_gpu_staged_bytes(int to_gpu);
/* Runs on the stream, null: the legacy default stream, after what it has been given before. */
void fake_gpu_enqueue(void* stream, void (*run)(void*), void* argument);

#ifdef __cplusplus
}
#endif
