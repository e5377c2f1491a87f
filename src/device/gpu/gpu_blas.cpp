#include <array>
#include <memory>
#include <string>

#include "base/enum_names.hpp"
#include "device/gpu/check.hpp"
#include "device/gpu/libraries.hpp"

namespace commlens::device::gpu {

namespace {

void check_blas(GPUBLAS_NAME(Status_t) status, const char* call) {
  if (status != GPUBLAS_VALUE(STATUS_SUCCESS)) fail(call, gpublasGetStatusText(status));
}

#define BLAS_CALL(function, ...) \
  check_blas(GPUBLAS_NAME(function)(__VA_ARGS__), COMMLENS_GPU_TEXT(GPUBLAS_NAME(function)))

GPUBLAS_NAME(Operation_t) native(Operation operation) {
  return entry_of(std::array{GPUBLAS_VALUE(OP_N), GPUBLAS_VALUE(OP_T), GPUBLAS_VALUE(OP_C)}, operation);
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
      return {GPUBLAS_TYPE(R_32F), GPUBLAS_COMPUTE(R_32F, 32F), single_unit, zero};
    case DataType::c64:
      return {GPUBLAS_TYPE(C_32F), GPUBLAS_COMPUTE(C_32F, 32F), single_unit, zero};
    case DataType::c128:
      return {GPUBLAS_TYPE(C_64F), GPUBLAS_COMPUTE(C_64F, 64F), double_unit, zero};
    default:
      return {GPUBLAS_TYPE(R_64F), GPUBLAS_COMPUTE(R_64F, 64F), double_unit, zero};
  }
}

class GpuBlas final : public Blas {
 public:
  GpuBlas() { BLAS_CALL(Create, &handle_); }
  GpuBlas(GpuBlas&&) = delete;
  ~GpuBlas() override { (void)GPUBLAS_NAME(Destroy)(handle_); }

  [[nodiscard]] std::string library() const override { return gpublasLibrary(handle_); }
  [[nodiscard]] bool tunes() const override { return gpublasTunedAlgorithm != GPUBLAS_VALUE(GEMM_DEFAULT); }

 protected:
  void call(const Gemm& gemm, Stream& stream) override {
    const Arithmetic arithmetic = native(gemm.type);
    BLAS_CALL(SetStream, handle_, static_cast<gpuStream_t>(stream.native()));
    BLAS_CALL(GemmEx, handle_, native(gemm.a_operation), native(gemm.b_operation), static_cast<int>(gemm.m),
              static_cast<int>(gemm.n), static_cast<int>(gemm.k), arithmetic.unit, gemm.a, arithmetic.type,
              static_cast<int>(gemm.lda), gemm.b, arithmetic.type, static_cast<int>(gemm.ldb),
              gemm.add ? arithmetic.unit : arithmetic.zero, gemm.c, arithmetic.type, static_cast<int>(gemm.ldc),
              arithmetic.compute, gemm.tune ? gpublasTunedAlgorithm : GPUBLAS_VALUE(GEMM_DEFAULT));
  }

 private:
  GPUBLAS_NAME(Handle_t) handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Blas> make_blas() { return std::make_unique<GpuBlas>(); }

}  // namespace commlens::device::gpu
