// A mark for the kernels of the host.
//
// They are compiled for several instruction sets, of which the best is chosen at run time: a binary that is built on a
// login node then uses the vector width of the compute node. `flatten` inlines all calls: a called function would be
// compiled for the oldest instruction set only.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define COMMLENS_FOR_EACH_PROCESSOR \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define COMMLENS_FOR_EACH_PROCESSOR
#endif
