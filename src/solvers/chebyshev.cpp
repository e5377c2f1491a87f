#include "solvers/chebyshev.hpp"

#include <cstddef>

#include "device/launch.hpp"

namespace commlens::solvers {

namespace {

std::size_t padded(std::size_t length) { return (length + 63) / 64 * 64; }

}  // namespace

Chebyshev::Chebyshev(Level<float>& level, Preconditioner& preconditioner, std::size_t degree, Bounds bounds,
                     const Context& context, const Observation& observation)
    : level_(level),
      preconditioner_(preconditioner),
      degree_(degree),
      bounds_(bounds),
      observation_(observation),
      step_(step_name(level.space().order(), "vectors")),
      vectors_(context.allocate((4 * padded(level.length()) + preconditioner.ghosts()) * sizeof(float))),
      direction_(vectors_.as<float>()),
      image_(direction_ + padded(level.length())),
      smoothed_(image_ + padded(level.length())),
      residual_(smoothed_ + padded(level.length())) {}

/// The three-term recurrence for the residuals S (b - A x), which need not be computed from x again:
///   d_0 = r_0 / theta,  r_k+1 = r_k - S A d_k,
///   d_k+1 = rho_k+1 rho_k d_k + (2 rho_k+1 / delta) r_k+1,  rho_0 = delta / theta, rho_k+1 = 1 / (2 / rho_0 - rho_k).
void Chebyshev::smooth(const float* b, float* x, bool from_zero, device::Stream& stream) {
  const double theta = (bounds_.largest + bounds_.least) / 2;
  const double delta = (bounds_.largest - bounds_.least) / 2;
  const std::size_t length = level_.length();
  float* const residual = residual_;
  float* const direction = direction_;
  float* const image = image_;
  float* const smoothed = smoothed_;
  const auto update = [&](auto function) {
    observed(observation_.observer, step_, stream, [&] { device::launch(stream, length, function); });
  };
  if (!from_zero) level_.apply(x, residual, stream);
  update(COMMLENS_LAMBDA(std::size_t i) { residual[i] = from_zero ? b[i] : b[i] - residual[i]; });
  preconditioner_.apply(residual, smoothed, stream);
  const auto first = static_cast<float>(1 / theta);
  update(COMMLENS_LAMBDA(std::size_t i) {
    const float change = first * smoothed[i];
    direction[i] = change;
    x[i] = from_zero ? change : x[i] + change;
  });
  double rho = delta / theta;
  for (std::size_t k = 0; k < degree_; ++k) {
    level_.apply(direction, residual, stream);
    preconditioner_.apply(residual, image, stream);
    const double next = 1 / (2 * theta / delta - rho);
    const auto of_direction = static_cast<float>(next * rho);
    const auto of_residual = static_cast<float>(2 * next / delta);
    update(COMMLENS_LAMBDA(std::size_t i) {
      const float rest = smoothed[i] - image[i];
      const float change = of_direction * direction[i] + of_residual * rest;
      smoothed[i] = rest;
      direction[i] = change;
      x[i] += change;
    });
    rho = next;
  }
}

}  // namespace commlens::solvers
