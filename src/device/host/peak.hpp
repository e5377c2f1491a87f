// What a core of the host reaches at best: passes over memory, and multiply-adds of numbers in registers.
#pragma once

#include <cstddef>

namespace commlens::device::host {

/// Arrays begin on a cache line, and have a multiple of four.
inline constexpr std::size_t line_bytes = 64;

double sum(const double* data, std::size_t n);
/// to[i] = (a[i] + b[i]) / 2
void mean(double* to, const double* a, const double* b, std::size_t n);

struct MultiplyAdds {
  double flops;  ///< floating-point operations
  double sum;    ///< of all numbers: without it the compiler could leave the arithmetic out
};

/// Multiply-adds of doubles or floats in registers, `rounds` of each number, in vectors of 32 bytes or `wide` ones of
/// 64: which are faster depends on the processor.
MultiplyAdds multiply_add(bool doubles, bool wide, std::size_t rounds);

}  // namespace commlens::device::host
