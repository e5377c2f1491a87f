#include "sem/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "device/launch.hpp"

namespace commlens::sem {

namespace {

/// What a kernel knows of an iteration. After the limit has been met every step is 0: what the host has queued before
/// it looks changes nothing any more.
struct Scalars {
  const double* of;     ///< [iteration]: r . r, energy
  const double* steps;  ///< [iteration], fused
  double least;         ///< the square of the tolerance

  [[nodiscard]] COMMLENS_FUNCTION double squared_residual(std::size_t k) const { return of[2 * k]; }
  [[nodiscard]] COMMLENS_FUNCTION double energy(std::size_t k) const { return of[2 * k + 1]; }
  [[nodiscard]] COMMLENS_FUNCTION bool ended(std::size_t k) const {
    return !(squared_residual(k) > least * squared_residual(0)) || !(energy(k) > 0);
  }
  /// Of the classical iteration, along p.
  [[nodiscard]] COMMLENS_FUNCTION double step(std::size_t k) const {
    return ended(k) ? 0.0 : squared_residual(k) / energy(k);
  }
  /// Of what of the last direction stays in the next one.
  [[nodiscard]] COMMLENS_FUNCTION double kept(std::size_t k) const {
    return k == 0 || ended(k - 1) ? 0.0 : squared_residual(k) / squared_residual(k - 1);
  }
  /// Of the fused iteration; its energy is r . A r.
  [[nodiscard]] COMMLENS_FUNCTION double fused_step(std::size_t k) const {
    if (ended(k)) return 0;
    const double last = k == 0 ? 0.0 : steps[k - 1];
    const double rest = last == 0 ? 0.0 : kept(k) * squared_residual(k) / last;
    return squared_residual(k) / (energy(k) - rest);
  }
};

/// What is counted of the square of an element of r.
struct Weighing {
  const double* weights;
  std::size_t counted;

  /// Puts 0 in the place of what is no unknown.
  COMMLENS_FUNCTION double of(double& value, std::size_t i) const {
    if (weights == nullptr) return i < counted ? value * value : 0.0;
    const double weight = weights[i];
    if (weight == 0) value = 0;
    return weight * value * value;
  }
};

void start_from_zero(const VectorSpace& space, const double* b, double* x, double* r, double* p, double* q, double* s,
                     void* scratch, double* squared_residual, device::Stream& stream) {
  const Weighing weighing{space.weights, space.counted};
  device::launch_sum(
      stream, space.length, scratch, squared_residual, COMMLENS_LAMBDA(std::size_t i) {
        double value = b[i];
        const double counts = weighing.of(value, i);
        x[i] = 0;
        q[i] = 0;
        r[i] = value;
        p[i] = s == nullptr ? value : 0.0;
        if (s != nullptr) s[i] = 0;
        return counts;
      });
}

/// r -= step q, and its square.
struct UpdateResidual {
  Weighing weighing;
  Scalars scalars;
  std::size_t k;
  const double* q;
  double* r;
  double step = 0;

  COMMLENS_FUNCTION void prepare() { step = scalars.step(k); }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    double value = r[i] - step * q[i];
    const double counts = weighing.of(value, i);
    r[i] = value;
    return counts;
  }
};

/// x += step p; p = r + kept p; and q is cleared for what is added to it next, where vectors hold each unknown once.
struct UpdateSolution {
  Scalars scalars;
  std::size_t k;
  bool clear;
  const double* r;
  double* x;
  double* p;
  double* q;
  double step = 0;
  double kept = 0;

  COMMLENS_FUNCTION void prepare() {
    step = scalars.step(k);
    kept = scalars.kept(k + 1);
  }
  COMMLENS_FUNCTION void operator()(std::size_t i) const {
    const double direction = p[i];
    x[i] += step * direction;
    p[i] = r[i] + kept * direction;
    if (clear) q[i] = 0;
  }
};

/// p = r + kept p; s = q + kept s; x += step p; r -= step s, and its square.
struct UpdateAll {
  Weighing weighing;
  Scalars scalars;
  std::size_t k;
  bool clear;
  double* x;
  double* r;
  double* p;
  double* q;
  double* s;
  double step = 0;
  double kept = 0;

  COMMLENS_FUNCTION void prepare() {
    step = scalars.fused_step(k);
    kept = scalars.kept(k);
  }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    const double direction = r[i] + kept * p[i];
    const double image = q[i] + kept * s[i];
    double value = r[i] - step * image;
    const double counts = weighing.of(value, i);
    p[i] = direction;
    s[i] = image;
    x[i] += step * direction;
    r[i] = value;
    if (clear) q[i] = 0;
    return counts;
  }
};

void keep_step(Scalars scalars, std::size_t k, double* steps, device::Stream& stream) {
  device::launch(stream, 1, COMMLENS_LAMBDA(std::size_t) { steps[k] = scalars.fused_step(k); });
}

/// From one vector to the next: each begins where a GPU's memory transactions do.
std::size_t stride_of(std::size_t length) { return (length + 31) / 32 * 32; }

std::size_t vectors_of(Solver solver) { return solver == Solver::fused ? 4 : 3; }

}  // namespace

ConjugateGradients::ConjugateGradients(Solver solver, const VectorSpace& space, const Limits& limits, Apply apply,
                                       transport::Transport& transport, int ranks,
                                       const std::function<device::Buffer(std::size_t)>& allocate,
                                       device::Stream& stream)
    : solver_(solver),
      space_(space),
      limits_(limits),
      apply_(std::move(apply)),
      transport_(transport),
      ranks_(ranks),
      vectors_(allocate(vectors_of(solver) * stride_of(space.length) * sizeof(double))),
      scratch_(allocate(device::sum_scratch_bytes)),
      scalars_(allocate(3 * (limits.iterations + 1) * sizeof(double))) {
  r_ = vectors_.as<double>();
  p_ = r_ + stride_of(space.length);
  q_ = p_ + stride_of(space.length);
  if (solver == Solver::fused) s_ = q_ + stride_of(space.length);
  stream.fill(scratch_.data(), 0, scratch_.bytes());
}

double ConjugateGradients::bytes(Solver solver, std::size_t length, const Limits& limits) {
  return static_cast<double>(vectors_of(solver)) * static_cast<double>(stride_of(length)) * sizeof(double) +
         device::sum_scratch_bytes + 3 * static_cast<double>(limits.iterations + 1) * sizeof(double);
}

double ConjugateGradients::traffic(Solver solver, std::size_t length) {
  // classical: r and q are read and r is written; p, x, r are read, p and x are written. fused: r, p, q, s, x are read,
  // and all but q are written. Besides, q is cleared or the weights are read.
  const double passes = solver == Solver::fused ? 5 + 4 + 1 : 3 + 5 + 1;
  return passes * static_cast<double>(length) * sizeof(double);
}

void ConjugateGradients::sum_over_ranks(double* values, std::size_t count, device::Stream& stream) {
  if (ranks_ > 1) transport_.allreduce(values, values, count, DataType::f64, stream);
}

void ConjugateGradients::begin(const double* b, double* x, device::Stream& stream) {
  auto* const scalars = scalars_.as<double>();
  start_from_zero(space_, b, x, r_, p_, q_, s_, scratch_.data(), scalars, stream);
  if (solver_ == Solver::classical) sum_over_ranks(scalars, 1, stream);
}

void ConjugateGradients::iterate_classical(std::size_t iteration, double* x, device::Stream& stream) {
  auto* const of = scalars_.as<double>();
  const Scalars scalars{of, nullptr, limits_.tolerance * limits_.tolerance};
  const Weighing weighing{space_.weights, space_.counted};
  apply_(p_, q_, of + 2 * iteration + 1, stream);
  sum_over_ranks(of + 2 * iteration + 1, 1, stream);
  device::launch_sum(stream, space_.length, scratch_.data(), of + 2 * iteration + 2,
                     UpdateResidual{weighing, scalars, iteration, q_, r_});
  sum_over_ranks(of + 2 * iteration + 2, 1, stream);
  device::launch(stream, space_.length, UpdateSolution{scalars, iteration, space_.weights == nullptr, r_, x, p_, q_});
}

void ConjugateGradients::iterate_fused(std::size_t iteration, double* x, device::Stream& stream) {
  auto* const of = scalars_.as<double>();
  double* const steps = of + 2 * (limits_.iterations + 1);
  const Scalars scalars{of, steps, limits_.tolerance * limits_.tolerance};
  const Weighing weighing{space_.weights, space_.counted};
  apply_(r_, q_, of + 2 * iteration + 1, stream);
  sum_over_ranks(of + 2 * iteration, 2, stream);
  keep_step(scalars, iteration, steps, stream);
  device::launch_sum(stream, space_.length, scratch_.data(), of + 2 * iteration + 2,
                     UpdateAll{weighing, scalars, iteration, space_.weights == nullptr, x, r_, p_, q_, s_});
}

Solution ConjugateGradients::look(std::size_t iterations, device::Stream& stream) const {
  std::vector<double> scalars(2 * (iterations + 1));
  stream.copy(scalars.data(), scalars_.data(), scalars.size() * sizeof(double));
  stream.wait();
  const double first = scalars.front();
  Solution solution;
  while (solution.iterations < iterations && !solution.converged) {
    const double squared = scalars[2 * ++solution.iterations];
    solution.relative_residuals.push_back(first > 0 ? std::sqrt(squared / first) : 0.0);
    // To the last bit as the kernels see it, which have done nothing since.
    solution.converged = !(squared > limits_.tolerance * limits_.tolerance * first);
  }
  return solution;
}

Solution ConjugateGradients::solve(const double* b, double* x, device::Stream& stream,
                                   const std::function<void()>& alive) {
  // On a GPU a look at the residual holds it up; on the host there is nothing to hold up.
  const std::size_t between_looks = stream.native() != nullptr ? 50 : 1;
  begin(b, x, stream);
  Solution solution;
  for (std::size_t done = 1; done <= limits_.iterations; ++done) {
    solver_ == Solver::fused ? iterate_fused(done - 1, x, stream) : iterate_classical(done - 1, x, stream);
    alive();
    const bool last = done == limits_.iterations;
    if (done % between_looks != 0 && !last) continue;
    // The fused iteration sums a residual over the ranks at the start of the next one.
    const bool summed = solver_ == Solver::classical || last;
    if (solver_ == Solver::fused && last) sum_over_ranks(scalars_.as<double>() + 2 * done, 1, stream);
    solution = look(summed ? done : done - 1, stream);
    if (solution.converged) break;
  }
  return solution;
}

}  // namespace commlens::sem
