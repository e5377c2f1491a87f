// Matrix products: one interface to cuBLAS, hipBLAS and CBLAS.
#pragma once

#include <cstddef>
#include <string>

#include "device/data_type.hpp"
#include "device/device.hpp"

namespace commlens::device {

/// Applied to a matrix before it is multiplied. For real types `adjoint` is the same as `transpose`.
enum class Operation { none, transpose, adjoint };

/// C = op(A) op(B), or C += op(A) op(B), as in the BLAS: matrices are stored column by column, with leading dimensions
/// `ld…`. op(A) is m x k, op(B) is k x n, C is m x n. They must not overlap, and must not be changed before the stream
/// has been waited for.
struct Gemm {
  DataType type = DataType::f64;  ///< f32, f64, c64 or c128
  Operation a_operation = Operation::none;
  Operation b_operation = Operation::none;
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;  ///< may exceed 2^31, the others may not
  const void* a = nullptr;
  std::size_t lda = 0;
  const void* b = nullptr;
  std::size_t ldb = 0;
  void* c = nullptr;
  std::size_t ldc = 0;
  bool add = false;
  /// Let the library time its algorithms for this shape the first time, and use the best one from then on, which takes
  /// as long as tens of products. Ignored where tunes() is false.
  bool tune = false;
};

/// Floating-point operations: 2 m n k, and 4 times as many for complex types.
double flops_of(const Gemm& gemm);

class Blas {
 public:
  virtual ~Blas() = default;

  /// Queues the product on a stream of the memory that this was made for. Throws Error for another type than these four
  /// and for m, n or a leading dimension of 2^31 or more; std::invalid_argument for a leading dimension that is smaller
  /// than the number of rows.
  void gemm(const Gemm& gemm, Stream& stream);

  /// "cuBLAS 13.1.0", "OpenBLAS 0.3.21 ..., 8 threads"
  [[nodiscard]] virtual std::string library() const = 0;
  /// How the user can make it faster, if it is badly configured; else empty.
  [[nodiscard]] virtual std::string advice() const { return {}; }
  /// Whether Gemm::tune has an effect.
  [[nodiscard]] virtual bool tunes() const { return false; }

 protected:
  /// One call of the library: m, n, k and the leading dimensions are positive and fit an int.
  virtual void call(const Gemm& gemm, Stream& stream) = 0;
};

}  // namespace commlens::device
