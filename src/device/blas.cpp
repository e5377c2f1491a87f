#include "device/blas.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/error.hpp"

namespace commlens::device {

namespace {

constexpr std::size_t largest = std::numeric_limits<int>::max();
/// Sizes are ints in hipBLAS and in most builds of CBLAS, so longer sums are computed in pieces.
constexpr std::size_t longest_sum = std::size_t{1} << 30;

const void* advanced(const void* data, std::size_t elements, DataType type) {
  return static_cast<const std::byte*>(data) + elements * size_of(type);
}

void check(const Gemm& gemm) {
  if (gemm.type < DataType::f32) {
    throw Error("no matrix product of " + std::string(name(gemm.type)) + ": it takes f32, f64, c64 or c128");
  }
  if (std::max({gemm.m, gemm.n, gemm.lda, gemm.ldb, gemm.ldc}) > largest) {
    throw Error("a matrix product with a dimension of 2^31 or more");
  }
  const std::size_t a_rows = gemm.a_operation == Operation::none ? gemm.m : gemm.k;
  const std::size_t b_rows = gemm.b_operation == Operation::none ? gemm.k : gemm.n;
  if (gemm.lda < a_rows || gemm.ldb < b_rows || gemm.ldc < gemm.m) {
    throw std::invalid_argument("a matrix product with a leading dimension smaller than the number of rows");
  }
}

/// The product for k = 0.
void clear(const Gemm& gemm, Stream& stream) {
  auto* column = static_cast<std::byte*>(gemm.c);
  for (std::size_t j = 0; j < gemm.n; ++j, column += gemm.ldc * size_of(gemm.type)) {
    stream.fill(column, 0, gemm.m * size_of(gemm.type));
  }
}

}  // namespace

double flops_of(const Gemm& gemm) {
  const double products = static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
  return (components(gemm.type) == 2 ? 8 : 2) * products;
}

void Blas::gemm(const Gemm& gemm, Stream& stream) {
  check(gemm);
  if (gemm.m == 0 || gemm.n == 0) return;
  if (gemm.k == 0 && !gemm.add) clear(gemm, stream);
  for (std::size_t begin = 0; begin < gemm.k; begin += longest_sum) {
    Gemm piece = gemm;
    piece.k = std::min(longest_sum, gemm.k - begin);
    piece.a = advanced(gemm.a, gemm.a_operation == Operation::none ? begin * gemm.lda : begin, gemm.type);
    piece.b = advanced(gemm.b, gemm.b_operation == Operation::none ? begin : begin * gemm.ldb, gemm.type);
    piece.add = gemm.add || begin > 0;
    call(piece, stream);
  }
}

}  // namespace commlens::device
