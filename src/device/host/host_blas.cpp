// Matrix products on the host: CBLAS of whichever library is linked.
#include <cblas.h>
#include <dlfcn.h>

#include <array>
#include <complex>
#include <cstdlib>
#include <memory>
#include <string>

#include "device/blas.hpp"
#include "device/host/host_stream.hpp"

namespace commlens::device::host {

namespace {

CBLAS_TRANSPOSE native(Operation operation) {
  return entry_of(std::array{CblasNoTrans, CblasTrans, CblasConjTrans}, operation);
}

/// CBLAS takes real factors by value and complex ones by address; for complex types Element is void.
template <class Element, class Function, class Factor>
void multiply(Function function, const Gemm& gemm, Factor alpha, Factor beta) {
  function(CblasColMajor, native(gemm.a_operation), native(gemm.b_operation), static_cast<int>(gemm.m),
           static_cast<int>(gemm.n), static_cast<int>(gemm.k), alpha, static_cast<const Element*>(gemm.a),
           static_cast<int>(gemm.lda), static_cast<const Element*>(gemm.b), static_cast<int>(gemm.ldb), beta,
           static_cast<Element*>(gemm.c), static_cast<int>(gemm.ldc));
}

template <class Real, class Function>
void multiply_complex(Function function, const Gemm& gemm) {
  const std::complex<Real> alpha = 1;
  const std::complex<Real> beta = gemm.add ? 1 : 0;
  multiply<void>(function, gemm, &alpha, &beta);
}

void multiply(const Gemm& gemm) {
  switch (gemm.type) {
    case DataType::f32:
      return multiply<float>(cblas_sgemm, gemm, 1.0F, gemm.add ? 1.0F : 0.0F);
    case DataType::f64:
      return multiply<double>(cblas_dgemm, gemm, 1.0, gemm.add ? 1.0 : 0.0);
    case DataType::c64:
      return multiply_complex<float>(cblas_cgemm, gemm);
    case DataType::c128:
      return multiply_complex<double>(cblas_zgemm, gemm);
    default:
      break;  // refused before
  }
}

template <class Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// Each library has its own function for this; which one is linked is found at run time.
void set_threads(int threads) {
  for (const char* variable : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (std::getenv(variable) != nullptr) return;
  }
  for (const char* name : {"openblas_set_num_threads", "scipy_openblas_set_num_threads", "MKL_Set_Num_Threads",
                           "bli_thread_set_num_threads", "omp_set_num_threads"}) {
    if (auto* set = symbol<void(int)>(name)) return set(threads);
  }
}

std::string blas_library() {
  for (const char* name : {"openblas_get_config", "scipy_openblas_get_config"}) {
    if (auto* get = symbol<const char*()>(name)) return get();
  }
  if (auto* get = symbol<void(char*, int)>("mkl_get_version_string")) {
    std::array<char, 200> text{};
    get(text.data(), static_cast<int>(text.size()) - 1);
    return text.data();
  }
  return "CBLAS";
}

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

class HostBlas final : public Blas {
 public:
  explicit HostBlas(int threads) { set_threads(threads); }
  [[nodiscard]] std::string library() const override { return blas_library(); }
  /// OpenBLAS uses the kernels of a Prescott, of 2004, for processors that it does not know.
  [[nodiscard]] std::string advice() const override {
    if (blas_library().find("Prescott") == std::string::npos || !has_avx2()) return {};
    return "OpenBLAS does not know this processor and uses kernels of 2004; set OPENBLAS_CORETYPE=HASWELL, or SKYLAKEX "
           "with AVX-512, or install a newer version";
  }

 protected:
  void call(const Gemm& gemm, Stream& stream) override {
    stream.enqueue([gemm] { multiply(gemm); });
  }
};

}  // namespace

std::unique_ptr<Blas> make_blas(int threads) { return std::make_unique<HostBlas>(threads); }

}  // namespace commlens::device::host
