// A three-dimensional Fourier transform of complex numbers that are distributed over all ranks, as in plane-wave codes
// such as CP2K.
//
//   backward   coefficients: along x, redistribute, along y, redistribute, along z: points
//   forward    points: along z, redistribute, along y, redistribute, along x: coefficients, divided by the number of
//   points
//
// One after the other they give the input again. With slabs y and z are one two-dimensional transform, and there is one
// redistribution. Of a cutoff sphere only the coefficients inside it are stored.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "device/fft.hpp"
#include "fft/layout.hpp"
#include "fft/transposition.hpp"
#include "transport/context.hpp"

namespace commlens::fft {

class DistributedFft {
 public:
  /// Collective. `layout` must outlive it. Makes plans and buffers, and, with `cached`, sub-communicators.
  DistributedFft(const Layout& layout, DataType type, Exchange exchange, bool cached, const Context& context);

  /// Both are collective, add to the stream, and preserve their input; backward() only for a sphere.
  void backward(StepObserver* observer);
  void forward(StepObserver* observer);
  /// Each exchange of both transforms, with whatever the blocks contain. Only where sub-communicators are cached.
  [[nodiscard]] std::vector<std::function<void()>> exchanges();

  [[nodiscard]] void* coefficients() const;                          ///< Layout::coefficients() of them, row by row
  [[nodiscard]] void* points() const { return points_.data(); }      ///< Layout::points() of them
  [[nodiscard]] const Ray* rows() const { return rows_.as<Ray>(); }  ///< Layout::rows, on the device
  /// Elements that packing and unpacking in both transforms read and write; an element that is only read or only
  /// written counts half.
  [[nodiscard]] static std::size_t packed(const Layout& layout);

 private:
  [[nodiscard]] Arrays blocks() const;
  void transform(device::Fft& plan, device::Direction direction, const void* from, void* to, StepObserver* observer);
  /// Copies between whole rays and the coefficients inside the sphere; beyond it whole rays are 0.
  void move_coefficients(device::Direction direction, StepObserver* observer);

  const Layout& layout_;
  DataType type_;
  device::Stream& stream_;
  device::Buffer points_;
  device::Buffer transformed_;  ///< by forward(): points, transformed along z (with slabs along y and z)
  device::Buffer y_pencils_;    ///< empty with slabs
  device::Buffer x_pencils_;    ///< or whole rays
  device::Buffer inside_;       ///< the coefficients inside a sphere; empty for the full span
  device::Buffer blocks_before_;
  device::Buffer blocks_after_;
  device::Buffer rows_;
  std::unique_ptr<device::Fft> along_z_;  ///< with slabs along y and z
  std::unique_ptr<device::Fft> along_y_;  ///< nullptr with slabs
  std::unique_ptr<device::Fft> along_x_;
  ProcessGrid process_grid_;
  std::unique_ptr<Transposition> first_;  ///< nullptr with slabs
  Transposition second_;
};

/// Points of the largest share of any rank, in any of the layouts that a transform passes through. For estimates.
double largest_share(const Distribution& distribution);

/// Bytes per rank that DistributedFft allocates, at most.
double upper_bytes(const Distribution& distribution, DataType type);

}  // namespace commlens::fft
