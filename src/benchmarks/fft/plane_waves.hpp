// Coefficients whose transform is known, and how far a transform is from it: the test data of fft.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/data_type.hpp"
#include "device/device.hpp"
#include "fft/complex.hpp"
#include "fft/layout.hpp"
#include "harness/run.hpp"

namespace commlens {

class PlaneWaves {
 public:
  static constexpr std::size_t workers = std::size_t{1} << 14;  ///< threads that add up what they find
  static constexpr std::size_t sum_bytes = workers * sizeof(fft::Complex<double>);  ///< taken from Run::buffer()

  /// `rows` are those of the layout, on the device; both must outlive it.
  PlaneWaves(Run& run, const fft::Layout& layout, const fft::Ray* rows, DataType type);

  /// What the coefficients are: one of them is 1, all others 0, so the points are a plane wave; or all are numbers
  /// between -1 and 1 that use every bit.
  enum class Kind { wave, numbers };

  /// Queues the writing of this rank's coefficients.
  void write(void* coefficients, Kind kind, std::uint64_t seed);
  /// Compares the coefficients with those that were written, to `tolerance`. Waits for the stream.
  Verdict compare_coefficients(const void* coefficients, double tolerance);
  /// Compares the points with the plane wave whose coefficient was written. Waits for the stream.
  Verdict compare_points(const void* points, double tolerance);
  /// Compares one point, another in each round, with the sum over all coefficients that were written: every one of them
  /// counts, at its own frequency. To `tolerance` for each square root of their number. Collective; waits for the
  /// stream.
  Verdict compare_a_point(const void* points, double tolerance);

 private:
  [[nodiscard]] bool sphere() const { return layout_.distribution.span == fft::Span::sphere; }
  /// What all coefficients add up to at a point. Collective.
  template <class Real>
  [[nodiscard]] fft::Complex<double> sum_at(const fft::Extents& point);

  Run& run_;
  const fft::Layout& layout_;
  const fft::Ray* rows_;
  DataType type_;
  device::Buffer sums_;  ///< of each worker
  Kind kind_ = Kind::numbers;
  std::uint64_t seed_ = 0;
  fft::Extents wave_{};  ///< the coefficient that is 1, by its index in x, y and z
};

}  // namespace commlens
