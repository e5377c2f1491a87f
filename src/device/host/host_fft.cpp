// The host's Fourier transforms: FFTW, or a library with its interface.
#include <fftw3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "device/fft.hpp"
#include "device/host/host_stream.hpp"

namespace commlens::device::host {

namespace {

/// FFTW's names for the two precisions.
template <class Real>
struct Fftw;

#define COMMLENS_FFTW(Real, prefix)                               \
  template <>                                                     \
  struct Fftw<Real> {                                             \
    using Complex = prefix##_complex;                             \
    using Plan = prefix##_plan;                                   \
    static constexpr auto make = prefix##_plan_guru64_dft;        \
    static constexpr auto execute = prefix##_execute_dft;         \
    static constexpr auto destroy = prefix##_destroy_plan;        \
    static constexpr auto alignment = prefix##_alignment_of;      \
    static constexpr auto set_timelimit = prefix##_set_timelimit; \
  }
COMMLENS_FFTW(double, fftw);
COMMLENS_FFTW(float, fftwf);

/// Seconds that FFTW may measure for a plan; then it uses the best found so far.
constexpr double planning_limit = 2;

/// Arrays are transformed in batches of this size. That is no slower than all at once, a little faster where they
/// exceed the cache, and bounds the memory for planning to twice this size.
constexpr std::size_t batch_bytes = std::size_t{512} << 10;

/// FFTW needs a plan for each of these, even for equal shapes.
struct Variant {
  Direction direction;
  bool in_place;
  bool aligned;

  [[nodiscard]] std::size_t index() const {
    return (direction == Direction::forward ? 0U : 4U) + (in_place ? 2U : 0U) + (aligned ? 1U : 0U);
  }
};

/// Plans of all variants for a number of arrays.
template <class Real>
class Batch {
 public:
  using Library = Fftw<Real>;
  using Complex = typename Library::Complex;

  Batch() = default;
  Batch(const FftShape& shape, std::size_t size, std::size_t count, Complex* in, Complex* out) {
    std::vector<fftw_iodim64> dimensions;
    std::size_t stride = size;
    for (const std::size_t length : shape.lengths) {
      stride /= length;
      dimensions.push_back(dimension(length, stride));
    }
    const fftw_iodim64 arrays = dimension(count, size);
    for (const auto direction : {Direction::forward, Direction::backward}) {
      for (const bool in_place : {false, true}) {
        for (const bool aligned : {false, true}) {
          // Plans for unaligned addresses are rarely used, and not worth measuring.
          const unsigned flags = FFTW_PRESERVE_INPUT | (aligned ? FFTW_MEASURE : FFTW_ESTIMATE | FFTW_UNALIGNED);
          const auto plan =
              Library::make(static_cast<int>(dimensions.size()), dimensions.data(), 1, &arrays, in, in_place ? in : out,
                            direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD, flags);
          if (plan == nullptr) throw Error("FFTW has no plan for a Fourier transform of " + text(shape.lengths));
          plans_[Variant{direction, in_place, aligned}.index()].reset(plan);
        }
      }
    }
  }

  void execute(const Variant& variant, Complex* in, Complex* out) const {
    Library::execute(plans_[variant.index()].get(), in, out);
  }

 private:
  struct Destroy {
    void operator()(typename Library::Plan plan) const { Library::destroy(plan); }
  };
  using Plan = std::unique_ptr<std::remove_pointer_t<typename Library::Plan>, Destroy>;

  static fftw_iodim64 dimension(std::size_t length, std::size_t stride) {
    const auto signed_stride = static_cast<std::ptrdiff_t>(stride);
    return {static_cast<std::ptrdiff_t>(length), signed_stride, signed_stride};
  }
  static std::string text(const std::vector<std::size_t>& lengths) {
    return std::to_string(lengths.front()) + (lengths.size() > 1 ? " x " + std::to_string(lengths.back()) : "");
  }

  std::array<Plan, 8> plans_;
};

std::string fft_library() {
  // FFTW: "fftw-3.3.10-sse2-avx"; other libraries with its interface have other texts.
  std::string version = fftw_version;
  const std::string prefix = "fftw-";
  if (!version.starts_with(prefix)) return version;
  const std::string rest = version.substr(prefix.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string::npos) return "FFTW " + rest;
  return "FFTW " + rest.substr(0, dash) + " (" + rest.substr(dash + 1) + ")";
}

template <class Real>
class HostFft final : public Fft {
 public:
  using Library = Fftw<Real>;
  using Complex = typename Library::Complex;

  explicit HostFft(const FftShape& shape) : size_(checked_size(shape)), count_(shape.count) {
    if (count_ == 0) return;
    batch_count_ = std::max<std::size_t>(batch_bytes / (size_ * sizeof(Complex)), 1);
    if (sizeof(Complex) % 16 != 0) batch_count_ += batch_count_ % 2;  // so that every batch is aligned to 16 bytes
    batch_count_ = std::min(batch_count_, count_);
    const Buffer in = allocate(batch_count_ * size_ * sizeof(Complex));
    const Buffer out = allocate(batch_count_ * size_ * sizeof(Complex));
    const auto plan = [&](std::size_t count) {
      return Batch<Real>(shape, size_, count, in.as<Complex>(), out.as<Complex>());
    };
    Library::set_timelimit(planning_limit);
    batch_ = plan(batch_count_);
    if (count_ % batch_count_ != 0) rest_ = plan(count_ % batch_count_);
    Library::set_timelimit(FFTW_NO_TIMELIMIT);
  }

  void execute(const void* in, void* out, Direction direction, Stream& stream) override {
    if (count_ == 0) return;
    // FFTW's functions take no const, but these plans preserve their input.
    stream.enqueue([this, from = static_cast<Complex*>(const_cast<void*>(in)), to = static_cast<Complex*>(out),
                    direction] { run(from, to, direction); });
  }

  [[nodiscard]] std::string library() const override { return fft_library(); }

 private:
  void run(Complex* in, Complex* out, Direction direction) const {
    for (std::size_t first = 0; first < count_; first += batch_count_) {
      Complex* from = in + first * size_;
      Complex* to = out + first * size_;
      const Batch<Real>& batch = count_ - first < batch_count_ ? rest_ : batch_;
      batch.execute({direction, in == out, aligned(from) && aligned(to)}, from, to);
    }
  }

  /// To the alignment of a page, with which the plans were made.
  static bool aligned(Complex* data) { return Library::alignment(reinterpret_cast<Real*>(data)) == 0; }

  std::size_t size_;
  std::size_t count_;
  std::size_t batch_count_ = 1;
  Batch<Real> batch_;
  Batch<Real> rest_;  ///< the last batch, if it is smaller
};

}  // namespace

std::unique_ptr<Fft> make_fft(const FftShape& shape) {
  if (shape.type == DataType::c64) return std::make_unique<HostFft<float>>(shape);
  return std::make_unique<HostFft<double>>(shape);
}

}  // namespace commlens::device::host
