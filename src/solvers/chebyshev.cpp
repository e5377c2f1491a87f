#include "solvers/chebyshev.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "solvers/dense.hpp"

namespace commlens::solvers {

namespace {

std::size_t padded(std::size_t length) { return (length + 63) / 64 * 64; }

/// From -1 to 1, by splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
float random_number(std::int64_t id) {
  std::uint64_t z = static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<float>(static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1);
}

std::vector<float> random_vector(const sem::FunctionSpace& space) {
  const auto ids = space.mesh().ids();
  std::vector<float> vector(space.length());
  space.numbering().for_each_unknown(
      [&](std::size_t node, std::uint32_t unknown) { vector[unknown] = random_number(ids[node]); });
  return vector;
}

/// Vectors of one level, and what Arnoldi's method does with them.
class Vectors {
 public:
  Vectors(const sem::FunctionSpace& space, const Context& context)
      : context_(context),
        length_(space.length()),
        counted_(space.numbering().owned),
        scratch_(context.allocate(device::sum_scratch_bytes)),
        result_(context.allocate(sizeof(double))) {
    context.stream.fill(scratch_.data(), 0, scratch_.bytes());
  }

  double product(const float* a, const float* b) {
    device::launch_sum(
        context_.stream, counted_, scratch_.data(), result_.as<double>(),
        COMMLENS_LAMBDA(std::size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
    return context_.communicator.sum_of_reals(device::download(result_.as<double>(), context_.stream));
  }

  void scale(float* a, double factor) {
    const auto by = static_cast<float>(factor);
    device::launch(context_.stream, length_, COMMLENS_LAMBDA(std::size_t i) { a[i] *= by; });
  }

  void subtract(float* a, double factor, const float* b) {
    const auto by = static_cast<float>(factor);
    device::launch(context_.stream, length_, COMMLENS_LAMBDA(std::size_t i) { a[i] -= by * b[i]; });
  }

 private:
  const Context& context_;
  std::size_t length_;
  std::size_t counted_;
  device::Buffer scratch_;
  device::Buffer result_;
};

/// d = of_direction d + of_residual z, and x += d; and z = 0 where S adds to it.
struct Update {
  float of_direction;  ///< 0: there is no d before
  float of_residual;
  std::size_t clear_from;
  bool from_zero;       ///< x is 0 before
  const float* change;  ///< of x, besides d; nullptr: none
  float* direction;
  float* smoothed;
  float* x;

  COMMLENS_FUNCTION void operator()(std::size_t i) const {
    float next = of_residual * smoothed[i];
    if (of_direction != 0) next += of_direction * direction[i];
    float value = from_zero ? next : x[i] + next;
    if (change != nullptr) value += change[i];
    direction[i] = next;
    x[i] = value;
    if (i >= clear_from) smoothed[i] = 0;
  }
};

}  // namespace

Chebyshev::Chebyshev(Level<float>& level, Preconditioner& preconditioner, std::size_t degree, Bounds bounds,
                     const Context& context, const Observation& observation)
    : level_(level),
      preconditioner_(preconditioner),
      degree_(degree),
      bounds_(bounds),
      observation_(observation),
      step_(step_name(level.space().order(), "vectors")),
      vectors_(context.allocate(2 * padded(level.length()) * sizeof(float))),
      direction_(vectors_.as<float>()),
      smoothed_(direction_ + padded(level.length())) {
  context.stream.fill(vectors_.data(), 0, vectors_.bytes());
}

/// With z_k = S (b - A x_k):
///   d_0 = z_0 / theta,  d_k+1 = rho_k+1 rho_k d_k + (2 rho_k+1 / delta) z_k+1,  x_k+1 = x_k + d_k,
///   rho_0 = delta / theta, rho_k+1 = 1 / (2 / rho_0 - rho_k).
void Chebyshev::smooth(float* residual, float* x, const float* change, bool from_zero, device::Stream& stream) {
  const double theta = (bounds_.largest + bounds_.least) / 2;
  const double delta = (bounds_.largest - bounds_.least) / 2;
  const auto step = [&](double of_direction, double of_residual, bool first) {
    preconditioner_.apply_to_zero(residual, smoothed_, stream);
    const Update update{.of_direction = static_cast<float>(of_direction),
                        .of_residual = static_cast<float>(of_residual),
                        .clear_from = preconditioner_.added_from(),
                        .from_zero = first && from_zero,
                        .change = first ? change : nullptr,
                        .direction = direction_,
                        .smoothed = smoothed_,
                        .x = x};
    observed(observation_.observer, step_, stream, [&] { device::launch(stream, level_.length(), update); });
  };
  step(0, 1 / theta, true);
  double rho = delta / theta;
  for (std::size_t k = 0; k < degree_; ++k) {
    level_.subtract(direction_, residual, stream);
    const double next = 1 / (2 * theta / delta - rho);
    step(next * rho, 2 * next / delta, false);
    rho = next;
  }
}

void Chebyshev::start(float* residual, float* x, device::Stream& stream) {
  smooth(residual, x, nullptr, true, stream);
  level_.subtract(direction_, residual, stream);
}

void Chebyshev::finish(float* residual, float* x, const float* change, device::Stream& stream) {
  smooth(residual, x, change, false, stream);
}

double spectral_radius(Level<float>& level, Preconditioner& preconditioner, std::size_t steps, const Context& context) {
  const sem::FunctionSpace& space = level.space();
  Vectors vectors(space, context);
  const auto allocate = [&] { return context.allocate((space.length() + preconditioner.ghosts()) * sizeof(float)); };
  std::vector<device::Buffer> basis;
  basis.push_back(allocate());
  device::upload(random_vector(space), basis[0].data(), context.stream);
  const device::Buffer image = allocate();
  vectors.scale(basis[0].as<float>(), 1 / std::sqrt(vectors.product(basis[0].as<float>(), basis[0].as<float>())));
  std::vector<double> hessenberg(steps * steps);  // column by column
  std::size_t done = 0;
  while (done < steps) {
    basis.push_back(allocate());
    auto* const next = basis.back().as<float>();
    level.apply(basis[done].as<float>(), image.as<float>(), context.stream);
    context.stream.fill(next, 0, space.length() * sizeof(float));
    preconditioner.apply_to_zero(image.as<float>(), next, context.stream);
    for (std::size_t i = 0; i <= done; ++i) {
      const double product = vectors.product(next, basis[i].as<float>());
      hessenberg[done * steps + i] = product;
      vectors.subtract(next, product, basis[i].as<float>());
    }
    const double norm = std::sqrt(vectors.product(next, next));
    ++done;
    if (done == steps || norm <= 1e-6 * std::abs(hessenberg[0])) break;  // fewer unknowns than steps
    hessenberg[(done - 1) * steps + done] = norm;
    vectors.scale(next, 1 / norm);
  }
  std::vector<double> used(done * done);
  for (std::size_t j = 0; j < done; ++j) {
    for (std::size_t i = 0; i < done; ++i) used[j * done + i] = hessenberg[j * steps + i];
  }
  // Numbers of a wrong exchange: the check of the results says where.
  if (!std::all_of(used.begin(), used.end(), [](double value) { return std::isfinite(value); })) return 1;
  double largest = 0;
  for (const std::complex<double>& value : eigenvalues(std::move(used))) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace commlens::solvers
