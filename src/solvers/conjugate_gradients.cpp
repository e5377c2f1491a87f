#include "solvers/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/launch.hpp"
#include "device/quotient.hpp"
#include "device/upload.hpp"

namespace commlens::solvers {

namespace {

/// The scalars of all iterations, for kernels. Once the tolerance is reached every alpha is 0, so that iterations which
/// the host has queued before it checks the residual change nothing: not even if r . r, which a GPU sums in any order,
/// is above the tolerance again by its rounding.
struct Scalars {
  const double* of;  ///< [iteration]: r . r, energy
  double* alphas;    ///< [iteration]: the steps, written in the iteration itself
  double squared_tolerance;

  [[nodiscard]] COMMLENS_FUNCTION double squared_residual(std::size_t k) const { return of[2 * k]; }
  [[nodiscard]] COMMLENS_FUNCTION double energy(std::size_t k) const { return of[2 * k + 1]; }
  [[nodiscard]] COMMLENS_FUNCTION bool ended(std::size_t k) const {
    return (k > 0 && alphas[k - 1] == 0) || !(squared_residual(k) > squared_tolerance * squared_residual(0)) ||
           !(energy(k) > 0);
  }
  /// Of the classical iteration: the step along p.
  [[nodiscard]] COMMLENS_FUNCTION double alpha(std::size_t k) const {
    return ended(k) ? 0.0 : squared_residual(k) / energy(k);
  }
  /// The weight of the last direction in the next one.
  [[nodiscard]] COMMLENS_FUNCTION double beta(std::size_t k) const {
    return k == 0 || alphas[k - 1] == 0 ? 0.0 : squared_residual(k) / squared_residual(k - 1);
  }
  /// Of the fused iteration, whose energy is r . A r.
  [[nodiscard]] COMMLENS_FUNCTION double fused_alpha(std::size_t k) const {
    if (ended(k)) return 0;
    const double rest = k == 0 ? 0.0 : beta(k) * squared_residual(k) / alphas[k - 1];
    return squared_residual(k) / (energy(k) - rest);
  }
};

Scalars scalars_at(double* of, const ConjugateGradients::Limits& limits) {
  return {of, of + 2 * (limits.iterations + 1), limits.tolerance * limits.tolerance};
}

void start_from_zero(const VectorSpace& space, const double* b, double* x, double* r, double* p, double* q, double* s,
                     double* squared_residual, device::Stream& stream) {
  const Weighing weighing(space);
  device::launch_unordered_sum(
      stream, space.length, squared_residual, COMMLENS_LAMBDA(std::size_t i) {
        double value = b[i];
        const double counts = weighing.square(value, i);
        x[i] = 0;
        q[i] = 0;
        r[i] = value;
        p[i] = s == nullptr ? value : 0.0;
        if (s != nullptr) s[i] = 0;
        return counts;
      });
}

/// r -= alpha q, and r . r.
struct UpdateResidual {
  Weighing weighing;
  Scalars scalars;
  std::size_t k;
  const double* q;
  double* r;
  double alpha = 0;

  COMMLENS_FUNCTION void prepare() { alpha = scalars.alpha(k); }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    if (i == 0) scalars.alphas[k] = alpha;
    double value = r[i] - alpha * q[i];
    const double counts = weighing.square(value, i);
    r[i] = value;
    return counts;
  }
};

constexpr std::size_t kept = 4;  ///< directions

/// The next direction r + beta p; and q = 0 where the operator adds to it. x is updated every fourth iteration, with
/// the directions of four, which saves reading and writing it three times.
struct UpdateSolution {
  Scalars scalars;
  std::size_t k;
  std::size_t clear_from;
  std::size_t steps;  ///< of x: 0, or the last directions of so many are added to it, at most `kept`
  const double* r;
  double* x;
  const double* last[kept];  ///< directions, from this one backwards
  double* next_p;            ///< may be one of them
  double* q;
  double alphas[kept] = {};
  double beta = 0;

  COMMLENS_FUNCTION void prepare() {
    for (std::size_t step = 0; step < kept; ++step) {  // of constant length: the array is in registers
      if (step < steps) alphas[step] = scalars.alphas[k - step];
    }
    beta = scalars.beta(k + 1);
  }
  COMMLENS_FUNCTION void operator()(std::size_t i) const {
    const double direction = last[0][i];
    if (steps > 0) {
      double value = device::load_streaming(x + i) + alphas[0] * direction;
      for (std::size_t step = 1; step < kept; ++step) {
        if (step < steps) value += alphas[step] * last[step][i];
      }
      device::store_streaming(x + i, value);
    }
    next_p[i] = r[i] + beta * direction;
    if (i >= clear_from) q[i] = 0;
  }
};

/// p = r + beta p; s = q + beta s; x += alpha p; r -= alpha s, and r . r; and q = 0 where the operator adds to it.
struct UpdateAll {
  Weighing weighing;
  Scalars scalars;
  std::size_t k;
  std::size_t clear_from;
  double* x;
  double* r;
  double* p;
  double* q;
  double* s;
  double alpha = 0;
  double beta = 0;

  COMMLENS_FUNCTION void prepare() {
    alpha = scalars.alphas[k];
    beta = scalars.beta(k);
  }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    const double direction = r[i] + beta * p[i];
    const double image = q[i] + beta * s[i];
    double value = r[i] - alpha * image;
    const double counts = weighing.square(value, i);
    p[i] = direction;
    s[i] = image;
    device::store_streaming(x + i, device::load_streaming(x + i) + alpha * direction);
    r[i] = value;
    if (i >= clear_from) q[i] = 0;
    return counts;
  }
};

void keep_alpha(Scalars scalars, std::size_t k, device::Stream& stream) {
  device::launch(stream, 1, COMMLENS_LAMBDA(std::size_t) { scalars.alphas[k] = scalars.fused_alpha(k); });
}

/// Distance between vectors: each begins at a multiple of the size of a GPU's memory transactions.
std::size_t stride_of(std::size_t length) { return (length + 31) / 32 * 32; }

/// With weights an operator writes its whole output.
std::size_t clear_from(const VectorSpace& space) { return space.weights == nullptr ? space.added_from : space.length; }

/// Of all kernels of the iterations, by their number: each goes in the opposite direction of the one before.
device::Traversal traversal_of(std::size_t kernel) {
  return kernel % 2 == 0 ? device::Traversal::forward : device::Traversal::backward;
}

/// r, q and directions; or r, q, p and s.
constexpr std::size_t vectors(Solver solver) { return solver == Solver::classical ? 2 + kept : 4; }

}  // namespace

ConjugateGradients::ConjugateGradients(Solver solver, const VectorSpace& space, const Limits& limits, Apply apply,
                                       const Context& context)
    : solver_(solver),
      space_(space),
      limits_(limits),
      apply_(std::move(apply)),
      transport_(context.transport),
      ranks_(context.communicator.size()),
      vectors_(context.allocate(vectors(solver) * stride_of(space.length) * sizeof(double))),
      scalars_(context.allocate(3 * (limits.iterations + 1) * sizeof(double))) {
  r_ = vectors_.as<double>();
  q_ = r_ + stride_of(space.length);
  p_ = q_ + stride_of(space.length);
  if (solver == Solver::fused) s_ = p_ + stride_of(space.length);
}

double ConjugateGradients::traffic(Solver solver, const VectorSpace& space) {
  // classical: reads r and q, writes r; then reads p and r, writes p, and every fourth time reads three directions and
  // x and writes x. fused: reads r, p, q, s and x, writes all of these but q. In addition a part of q is set to 0, or
  // the weights are read.
  const double passes = solver == Solver::fused ? 5 + 4 : 3 + 3 + 5.0 / 4;
  const std::size_t rest = space.weights == nullptr ? space.length - clear_from(space) : space.length;
  return (passes * static_cast<double>(space.length) + static_cast<double>(rest)) * sizeof(double);
}

double ConjugateGradients::upper_bytes(double length, double iterations) {
  constexpr double rounding = 16.0 * 1024;  // of the sizes of allocations
  return rounding + sizeof(double) * (static_cast<double>(vectors(Solver::classical)) * length + 3 * (iterations + 1));
}

void ConjugateGradients::sum_over_ranks(double* values, std::size_t count, device::Stream& stream) {
  if (ranks_ > 1) transport_.allreduce(values, values, count, DataType::f64, stream);
}

void ConjugateGradients::begin(const double* b, double* x, device::Stream& stream) {
  auto* const scalars = scalars_.as<double>();
  stream.fill(scalars_.data(), 0, scalars_.bytes());
  start_from_zero(space_, b, x, r_, p_, q_, s_, scalars, stream);
  if (solver_ == Solver::classical) sum_over_ranks(scalars, 1, stream);
}

void ConjugateGradients::iterate_classical(std::size_t iteration, std::size_t steps, double* x,
                                           device::Stream& stream) {
  auto* const of = scalars_.as<double>();
  const Scalars scalars = scalars_at(of, limits_);
  const Weighing weighing(space_);
  const std::size_t kernel = 3 * iteration;
  const auto direction = [&](std::size_t k) { return p_ + k % kept * stride_of(space_.length); };
  UpdateSolution update{scalars, iteration, clear_from(space_), steps, r_, x, {}, direction(iteration + 1), q_};
  for (std::size_t back = 0; back < kept; ++back) update.last[back] = direction(iteration + kept - back);
  apply_(direction(iteration), q_, of + 2 * iteration + 1, stream, traversal_of(kernel));
  sum_over_ranks(of + 2 * iteration + 1, 1, stream);
  device::launch_unordered_sum(stream, space_.length, of + 2 * iteration + 2,
                               UpdateResidual{weighing, scalars, iteration, q_, r_}, traversal_of(kernel + 1));
  sum_over_ranks(of + 2 * iteration + 2, 1, stream);
  device::launch(stream, space_.length, update, traversal_of(kernel + 2));
}

void ConjugateGradients::iterate_fused(std::size_t iteration, double* x, device::Stream& stream) {
  auto* const of = scalars_.as<double>();
  const Scalars scalars = scalars_at(of, limits_);
  const Weighing weighing(space_);
  apply_(r_, q_, of + 2 * iteration + 1, stream, traversal_of(0));
  sum_over_ranks(of + 2 * iteration, 2, stream);
  keep_alpha(scalars, iteration, stream);
  device::launch_unordered_sum(stream, space_.length, of + 2 * iteration + 2,
                               UpdateAll{weighing, scalars, iteration, clear_from(space_), x, r_, p_, q_, s_},
                               traversal_of(1));
}

Solution ConjugateGradients::solution_after(std::size_t iterations, device::Stream& stream) const {
  const auto scalars = device::download(scalars_.as<double>(), 2 * (iterations + 1), stream);
  const double first = scalars.front();
  Solution solution;
  while (solution.iterations < iterations && !solution.converged) {
    const double squared = scalars[2 * ++solution.iterations];
    solution.relative_residuals.push_back(first > 0 ? std::sqrt(squared / first) : 0.0);
    // The same test as in the kernels, to the last bit.
    solution.converged = !(squared > limits_.tolerance * limits_.tolerance * first);
  }
  return solution;
}

void ConjugateGradients::iterate(std::size_t first, std::size_t end, double* x, device::Stream& stream) {
  for (std::size_t iteration = first; iteration < end; ++iteration) {
    if (solver_ == Solver::fused) {
      iterate_fused(iteration, x, stream);
    } else {
      const std::size_t pending = (iteration - first) % kept + 1;
      iterate_classical(iteration, pending == kept || iteration + 1 == end ? pending : 0, x, stream);
    }
  }
}

Solution ConjugateGradients::solve(const double* b, double* x, device::Stream& stream,
                                   const std::function<void()>& heartbeat) {
  // Reading the residual stalls a GPU; on the host it costs nothing. In between x may lack the last steps.
  const std::size_t read_every = stream.on_gpu() ? 50 : kept;
  replays_.resize((limits_.iterations + read_every - 1) / read_every);
  begin(b, x, stream);
  Solution solution;
  for (std::size_t first = 0; first < limits_.iterations && !solution.converged; first += read_every) {
    const std::size_t end = std::min(first + read_every, limits_.iterations);
    const auto work = [&] { iterate(first, end, x, stream); };
    limits_.graphs ? replays_[first / read_every].run(stream, work) : work();
    heartbeat();
    // The fused iteration sums its residual over the ranks in the next iteration.
    const bool last = end == limits_.iterations;
    const bool summed = solver_ == Solver::classical || last;
    if (solver_ == Solver::fused && last) sum_over_ranks(scalars_.as<double>() + 2 * end, 1, stream);
    solution = solution_after(summed ? end : end - 1, stream);
  }
  return solution;
}

}  // namespace commlens::solvers
