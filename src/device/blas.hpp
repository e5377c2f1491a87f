// Matrix products: one function over cuBLAS, hipBLAS and CBLAS.
#pragma once

#include <cstddef>
#include <string>

#include "device/data_type.hpp"
#include "device/device.hpp"

namespace commlens::device {

/// What is done to a matrix before it is multiplied; for real types `adjoint` is `transpose`.
enum class Operation { none, transpose, adjoint };

/// C = op(A) op(B), or C += op(A) op(B), as in the BLAS: matrices are stored by columns, of which each begins `ld…`
/// elements after the one before. op(A) is m x k, op(B) is k x n, C is m x n. They are the caller's, do not overlap,
/// and stay as they are until the stream has been waited for.
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
  /// Let the library try all that it has for this shape the first time that it meets it, and keep the best: takes tens
  /// of products. Nothing happens where the library cannot.
  bool tune = false;
};

/// Floating-point operations: 2 m n k, and 4 times as many for complex types.
double flops_of(const Gemm& gemm);

class Blas {
 public:
  virtual ~Blas() = default;

  /// Queues the product on a stream of the memory that this was made for. Throws Error for a type that is none of the
  /// four and for m, n or a leading dimension of 2^31 or more; std::invalid_argument for a leading dimension that is
  /// shorter than a column.
  void gemm(const Gemm& gemm, Stream& stream);

  /// "cuBLAS 13.1.0", "OpenBLAS 0.3.21 ..., 8 threads"
  [[nodiscard]] virtual std::string library() const = 0;
  /// A sentence on how to make it faster, where it is plainly set up badly; else empty.
  [[nodiscard]] virtual std::string advice() const { return {}; }
  /// Whether `tune` does something.
  [[nodiscard]] virtual bool tunes() const { return false; }

 protected:
  /// One call of the library: m, n, k and the leading dimensions are positive and fit an int.
  virtual void call(const Gemm& gemm, Stream& stream) = 0;
};

}  // namespace commlens::device
