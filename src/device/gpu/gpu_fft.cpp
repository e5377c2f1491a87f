#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/gpu/check.hpp"
#include "device/gpu/libraries.hpp"

namespace commlens::device::gpu {

namespace {

/// The library has no function for this.
std::string status_text(GPUFFT_NAME(Result) status) {
  constexpr std::pair<GPUFFT_NAME(Result), const char*> texts[] = {
      {GPUFFT_VALUE(ALLOC_FAILED), "out of memory"},
      {GPUFFT_VALUE(INVALID_SIZE), "a size that is not supported"},
      {GPUFFT_VALUE(INVALID_DEVICE), "an invalid device"},
      {GPUFFT_VALUE(EXEC_FAILED), "the transform failed"},
      {GPUFFT_VALUE(SETUP_FAILED), "the library could not be set up"},
      {GPUFFT_VALUE(NOT_SUPPORTED), "not supported"}};
  for (const auto& [known, text] : texts) {
    if (known == status) return text;
  }
  return "status " + std::to_string(static_cast<int>(status));
}

void check_fft(GPUFFT_NAME(Result) status, const char* call) {
  if (status != GPUFFT_VALUE(SUCCESS)) fail(call, status_text(status));
}

#define FFT_CALL(function, ...) check_fft(GPUFFT_NAME(function)(__VA_ARGS__), COMMLENS_GPU_TEXT(GPUFFT_NAME(function)))

/// The library's plan, for both directions, in place and out of place. The library owns its scratch memory.
class Plan {
 public:
  Plan() { FFT_CALL(Create, &handle_); }
  Plan(Plan&&) = delete;
  ~Plan() { (void)GPUFFT_NAME(Destroy)(handle_); }

  [[nodiscard]] GPUFFT_NAME(Handle) native() const { return handle_; }

 private:
  GPUFFT_NAME(Handle) handle_ {};
};

class GpuFft final : public Fft {
 public:
  explicit GpuFft(const FftShape& shape) : single_(shape.type == DataType::c64), some_(shape.count > 0) {
    const auto size = static_cast<long long>(checked_size(shape));
    if (!some_) return;
    std::vector<long long> lengths(shape.lengths.begin(), shape.lengths.end());
    std::size_t scratch = 0;
    FFT_CALL(MakePlanMany64, plan_.native(), static_cast<int>(lengths.size()), lengths.data(), nullptr, 1, size,
             nullptr, 1, size, single_ ? GPUFFT_VALUE(C2C) : GPUFFT_VALUE(Z2Z), static_cast<long long>(shape.count),
             &scratch);
  }

  void execute(const void* in, void* out, Direction direction, Stream& stream) override {
    if (!some_) return;
    FFT_CALL(SetStream, plan_.native(), static_cast<gpuStream_t>(stream.native()));
    const int sign = direction == Direction::forward ? GPUFFT_VALUE(FORWARD) : gpufftBackward;
    // The library's functions take no const, but preserve the input of complex transforms.
    void* from = const_cast<void*>(in);
    if (single_) {
      FFT_CALL(ExecC2C, plan_.native(), static_cast<GPUFFT_NAME(Complex)*>(from),
               static_cast<GPUFFT_NAME(Complex)*>(out), sign);
    } else {
      FFT_CALL(ExecZ2Z, plan_.native(), static_cast<GPUFFT_NAME(DoubleComplex)*>(from),
               static_cast<GPUFFT_NAME(DoubleComplex)*>(out), sign);
    }
  }

  [[nodiscard]] std::string library() const override { return gpufftLibrary(); }

 private:
  bool single_;
  bool some_;
  Plan plan_;
};

}  // namespace

std::unique_ptr<Fft> make_fft(const FftShape& shape) { return std::make_unique<GpuFft>(shape); }

}  // namespace commlens::device::gpu
