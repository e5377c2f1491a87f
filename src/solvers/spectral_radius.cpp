#include "solvers/spectral_radius.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "solvers/dense.hpp"
#include "solvers/vector_space.hpp"

namespace commlens::solvers {

namespace {

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
  for (std::size_t node = 0; node < ids.size(); ++node) {
    const std::uint32_t unknown = space.numbering().of_node[node];
    if (unknown == sem::Numbering::fixed) continue;
    vector[unknown & ~sem::Numbering::by_several] = random_number(ids[node]);
  }
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

  double product(const float* a, const float* b);
  void scale(float* a, double factor);
  void subtract(float* a, double factor, const float* b);

 private:
  const Context& context_;
  std::size_t length_;
  std::size_t counted_;
  device::Buffer scratch_;
  device::Buffer result_;
};

double Vectors::product(const float* a, const float* b) {
  device::launch_sum(
      context_.stream, counted_, scratch_.data(), result_.as<double>(),
      COMMLENS_LAMBDA(std::size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
  return context_.communicator.sum_of_reals(device::download(result_.as<double>(), context_.stream));
}

void Vectors::scale(float* a, double factor) {
  const auto by = static_cast<float>(factor);
  device::launch(context_.stream, length_, COMMLENS_LAMBDA(std::size_t i) { a[i] *= by; });
}

void Vectors::subtract(float* a, double factor, const float* b) {
  const auto by = static_cast<float>(factor);
  device::launch(context_.stream, length_, COMMLENS_LAMBDA(std::size_t i) { a[i] -= by * b[i]; });
}

}  // namespace

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
    preconditioner.apply(image.as<float>(), next, context.stream);
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
