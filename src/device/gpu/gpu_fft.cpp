#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "device/gpu/check.hpp"
#include "device/gpu/libraries.hpp"

namespace commlens::device::gpu {

namespace {

/// The library has no function for this.
std::string status_text(gpufftResult status) {
  switch (status) {
    case gpufftAllocFailed:
      return "out of memory";
    case gpufftInvalidSize:
      return "a size that is not supported";
    case gpufftInvalidDevice:
      return "an invalid device";
    case gpufftExecFailed:
      return "the transform failed";
    case gpufftSetupFailed:
      return "the library could not be set up";
    case gpufftNotSupported:
      return "not supported";
    default:
      return "status " + std::to_string(static_cast<int>(status));
  }
}

void check_fft(gpufftResult status, const char* call) {
  if (status != gpufftSuccess) fail(call, status_text(status));
}

#define FFT_CALL(function, ...) check_fft(function(__VA_ARGS__), COMMLENS_GPU_TEXT(function))

/// The library's plan, for both directions, in place and out of place. The library owns its scratch memory.
class Plan {
 public:
  Plan() { FFT_CALL(gpufftCreate, &handle_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { (void)gpufftDestroy(handle_); }

  [[nodiscard]] gpufftHandle native() const { return handle_; }

 private:
  gpufftHandle handle_{};
};

class GpuFft final : public Fft {
 public:
  explicit GpuFft(const FftShape& shape) : single_(shape.type == DataType::c64), some_(shape.count > 0) {
    const auto size = static_cast<long long>(checked_size(shape));
    if (!some_) return;
    std::vector<long long> lengths(shape.lengths.begin(), shape.lengths.end());
    std::size_t scratch = 0;
    FFT_CALL(gpufftMakePlanMany64, plan_.native(), static_cast<int>(lengths.size()), lengths.data(), nullptr, 1, size,
             nullptr, 1, size, single_ ? gpufftC64 : gpufftC128, static_cast<long long>(shape.count), &scratch);
  }

  void execute(const void* in, void* out, Direction direction, Stream& stream) override {
    if (!some_) return;
    FFT_CALL(gpufftSetStream, plan_.native(), static_cast<gpuStream_t>(stream.native()));
    const int sign = direction == Direction::forward ? gpufftForward : gpufftBackward;
    // The library's functions take no const, but preserve the input of complex transforms.
    void* from = const_cast<void*>(in);
    if (single_) {
      FFT_CALL(gpufftExecC64, plan_.native(), static_cast<gpufftComplex64*>(from), static_cast<gpufftComplex64*>(out),
               sign);
    } else {
      FFT_CALL(gpufftExecC128, plan_.native(), static_cast<gpufftComplex128*>(from),
               static_cast<gpufftComplex128*>(out), sign);
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
