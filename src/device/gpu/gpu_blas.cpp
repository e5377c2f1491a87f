#include <array>
#include <memory>
#include <string>

#include "base/enum_names.hpp"
#include "device/gpu/check.hpp"
#include "device/gpu/libraries.hpp"

namespace commlens::device::gpu {

namespace {

void check_blas(gpublasStatus_t status, const char* call) {
  if (status != gpublasSuccess) fail(call, gpublasGetStatusText(status));
}

#define BLAS_CALL(function, ...) check_blas(function(__VA_ARGS__), COMMLENS_GPU_TEXT(function))

gpublasOperation_t native(Operation operation) {
  return entry_of(std::array{gpublasNoTranspose, gpublasTranspose, gpublasAdjoint}, operation);
}

/// The library's names of a type, and the factors 1 and 0.
struct Arithmetic {
  gpublasDataType_t type;
  gpublasComputeType_t compute;
  const void* unit;
  const void* zero;
};

Arithmetic native(DataType type) {
  // A complex number begins with its real part.
  static constexpr float single_unit[2] = {1, 0};
  static constexpr double double_unit[2] = {1, 0};
  static constexpr double zero[2] = {0, 0};
  switch (type) {
    case DataType::f32:
      return {gpublasF32, gpublasComputeF32, single_unit, zero};
    case DataType::c64:
      return {gpublasC64, gpublasComputeC64, single_unit, zero};
    case DataType::c128:
      return {gpublasC128, gpublasComputeC128, double_unit, zero};
    default:
      return {gpublasF64, gpublasComputeF64, double_unit, zero};
  }
}

class GpuBlas final : public Blas {
 public:
  GpuBlas() { BLAS_CALL(gpublasCreate, &handle_); }
  GpuBlas(const GpuBlas&) = delete;
  GpuBlas& operator=(const GpuBlas&) = delete;
  ~GpuBlas() override { (void)gpublasDestroy(handle_); }

  [[nodiscard]] std::string library() const override { return gpublasLibrary(handle_); }
  [[nodiscard]] bool tunes() const override { return gpublasTunedAlgorithm != gpublasDefaultAlgorithm; }

 protected:
  void call(const Gemm& gemm, Stream& stream) override {
    const Arithmetic arithmetic = native(gemm.type);
    BLAS_CALL(gpublasSetStream, handle_, static_cast<gpuStream_t>(stream.native()));
    BLAS_CALL(gpublasGemmEx, handle_, native(gemm.a_operation), native(gemm.b_operation), static_cast<int>(gemm.m),
              static_cast<int>(gemm.n), static_cast<int>(gemm.k), arithmetic.unit, gemm.a, arithmetic.type,
              static_cast<int>(gemm.lda), gemm.b, arithmetic.type, static_cast<int>(gemm.ldb),
              gemm.add ? arithmetic.unit : arithmetic.zero, gemm.c, arithmetic.type, static_cast<int>(gemm.ldc),
              arithmetic.compute, gemm.tune ? gpublasTunedAlgorithm : gpublasDefaultAlgorithm);
  }

 private:
  gpublasHandle_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Blas> make_blas() { return std::make_unique<GpuBlas>(); }

}  // namespace commlens::device::gpu
