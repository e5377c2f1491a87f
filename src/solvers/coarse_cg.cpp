#include "device/launch.hpp"
#include "solvers/coarse_solver.hpp"
#include "solvers/jacobi.hpp"

namespace commlens::solvers {

namespace {

/// The scalars of an iteration, for kernels: [step]: r . D^-1 r and p . A p.
struct Scalars {
  const double* of;

  [[nodiscard]] COMMLENS_FUNCTION double rz(std::size_t step) const { return of[2 * step]; }
  [[nodiscard]] COMMLENS_FUNCTION double energy(std::size_t step) const { return of[2 * step + 1]; }
  [[nodiscard]] COMMLENS_FUNCTION float alpha(std::size_t step) const {
    return energy(step) > 0 ? static_cast<float>(rz(step) / energy(step)) : 0.0F;
  }
  [[nodiscard]] COMMLENS_FUNCTION float beta(std::size_t step) const {
    return rz(step - 1) > 0 ? static_cast<float>(rz(step) / rz(step - 1)) : 0.0F;
  }
};

COMMLENS_FUNCTION inline double product(float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }

/// x = 0, r = b, p = D^-1 r.
struct Start {
  std::size_t counted;
  const float* inverse;
  const float* b;
  float* x;
  float* r;
  float* p;

  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    const float residual = b[i];
    const float scaled = inverse[i] * residual;
    x[i] = 0;
    r[i] = residual;
    p[i] = scaled;
    return i < counted ? product(residual, scaled) : 0.0;
  }
};

/// x += alpha p, r -= alpha A p.
struct Step {
  std::size_t counted;
  Scalars scalars;
  std::size_t step;
  const float* inverse;
  const float* p;
  const float* q;
  float* x;
  float* r;
  float alpha = 0;

  COMMLENS_FUNCTION void prepare() { alpha = scalars.alpha(step); }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    const float residual = r[i] - alpha * q[i];
    x[i] += alpha * p[i];
    r[i] = residual;
    return i < counted ? product(residual, inverse[i] * residual) : 0.0;
  }
};

/// p = D^-1 r + beta p.
struct Turn {
  Scalars scalars;
  std::size_t step;
  const float* inverse;
  const float* r;
  float* p;
  float beta = 0;

  COMMLENS_FUNCTION void prepare() { beta = scalars.beta(step); }
  COMMLENS_FUNCTION void operator()(std::size_t i) const { p[i] = inverse[i] * r[i] + beta * p[i]; }
};

struct Energy {
  const float* p;
  const float* q;

  COMMLENS_FUNCTION double operator()(std::size_t i) const { return product(p[i], q[i]); }
};

class CoarseCg final : public CoarseSolver {
 public:
  CoarseCg(Level<float>& level, std::size_t steps, const Context& context, const Observation& observation)
      : level_(level),
        steps_(steps),
        transport_(context.transport),
        several_ranks_(context.communicator.size() > 1),
        observation_(observation),
        diagonal_(level, context, observation),
        vectors_(context.allocate(3 * stride() * sizeof(float))),
        scratch_(context.allocate(device::sum_scratch_bytes)),
        scalars_(context.allocate(2 * (steps + 1) * sizeof(double))) {
    context.stream.fill(scratch_.data(), 0, scratch_.bytes());
  }

  void solve(const float* b, float* x, device::Stream& stream) override {
    auto* const r = vectors_.as<float>();
    auto* const p = r + stride();
    auto* const q = p + stride();
    auto* const of = scalars_.as<double>();
    const std::size_t counted = level_.space().numbering().owned;
    const float* const inverse = diagonal_.inverse_diagonal();
    const Scalars scalars{of};
    sum(stream, level_.length(), of, Start{counted, inverse, b, x, r, p});
    for (std::size_t step = 0; step < steps_; ++step) {
      level_.apply(p, q, stream);
      sum(stream, counted, of + 2 * step + 1, Energy{p, q});
      sum(stream, level_.length(), of + 2 * step + 2, Step{counted, scalars, step, inverse, p, q, x, r});
      if (step + 1 == steps_) break;
      observed(observation_.observer, coarse_step, stream,
               [&] { device::launch(stream, level_.length(), Turn{scalars, step + 1, inverse, r, p}); });
    }
  }

  [[nodiscard]] std::string description() const override { return std::to_string(steps_) + " steps of Jacobi CG"; }

 private:
  [[nodiscard]] std::size_t stride() const { return (level_.length() + 63) / 64 * 64; }

  /// Over all ranks.
  template <class Function>
  void sum(device::Stream& stream, std::size_t count, double* result, Function function) {
    observed(observation_.observer, coarse_step, stream, [&] {
      device::launch_sum(stream, count, scratch_.data(), result, function);
      if (several_ranks_) transport_.allreduce(result, result, 1, DataType::f64, stream);
    });
  }

  Level<float>& level_;
  std::size_t steps_;
  transport::Transport& transport_;
  bool several_ranks_;
  const Observation& observation_;
  Jacobi diagonal_;
  device::Buffer vectors_;
  device::Buffer scratch_;
  device::Buffer scalars_;
};

}  // namespace

std::unique_ptr<CoarseSolver> make_coarse_cg(Level<float>& level, std::size_t steps, const Context& context,
                                             const Observation& observation) {
  return std::make_unique<CoarseCg>(level, steps, context, observation);
}

}  // namespace commlens::solvers
