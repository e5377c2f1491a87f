#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "solvers/coarse_solver.hpp"
#include "solvers/jacobi.hpp"

namespace commlens::solvers {

namespace {

/// The scalars of the steps, for kernels: [step]: r . z and z . A z; then all alphas.
struct CoarseScalars {
  const double* of;
  const double* alphas;

  [[nodiscard]] COMMLENS_FUNCTION double rz(std::size_t step) const { return of[2 * step]; }
  /// What is left is less than the rounding of x, which further steps cannot improve: with few unknowns they would go
  /// on to numbers so small that floats have only some bits of them, or none, and end in infinity.
  [[nodiscard]] COMMLENS_FUNCTION bool has_ended(std::size_t step) const {
    constexpr double rounding = 1.0 / (1 << 24);
    return !(rz(step) > rounding * rounding * rz(0));
  }
  [[nodiscard]] COMMLENS_FUNCTION double beta(std::size_t step) const {
    return step > 0 && !has_ended(step) ? rz(step) / rz(step - 1) : 0.0;
  }
  [[nodiscard]] COMMLENS_FUNCTION double alpha(std::size_t step) const {
    if (has_ended(step)) return 0;
    const double last = step > 0 ? alphas[step - 1] : 0.0;
    const double energy = of[2 * step + 1] - (last > 0 ? beta(step) * rz(step) / last : 0.0);
    return energy > 0 ? rz(step) / energy : 0.0;
  }
};

/// Vectors of the iteration; z = D^-1 r, q = A z, s = A p.
struct CoarseVectors {
  std::size_t counted;
  const float* inverse;
  float* x;
  float* r;
  float* z;
  float* p;
  float* q;
  float* s;

  /// z, and r . z of an owned unknown.
  [[nodiscard]] COMMLENS_FUNCTION double scale(std::size_t i) const {
    z[i] = inverse[i] * r[i];
    return i < counted ? static_cast<double>(r[i]) * static_cast<double>(z[i]) : 0.0;
  }
};

/// x = 0, r = b.
struct Start {
  CoarseVectors v;
  const float* b;

  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    v.x[i] = 0;
    v.r[i] = b[i];
    v.p[i] = 0;
    v.q[i] = 0;
    v.s[i] = 0;
    return v.scale(i);
  }
};

/// p = z + beta p, s = q + beta s, x += alpha p, r -= alpha s; and q = 0, to which the operator adds.
struct Step {
  CoarseVectors v;
  CoarseScalars scalars;
  double* alphas;
  std::size_t step;
  float alpha = 0;
  float beta = 0;

  COMMLENS_FUNCTION void prepare() {
    alpha = static_cast<float>(scalars.alpha(step));
    beta = static_cast<float>(scalars.beta(step));
  }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    if (i == 0) alphas[step] = scalars.alpha(step);
    const float direction = v.z[i] + beta * v.p[i];
    const float image = v.q[i] + beta * v.s[i];
    v.p[i] = direction;
    v.s[i] = image;
    v.q[i] = 0;
    v.x[i] += alpha * direction;
    v.r[i] -= alpha * image;
    return v.scale(i);
  }
};

/// The iteration of Chronopoulos and Gear (J. Comput. Appl. Math. 25, 1989), whose two sums of a step are one
/// reduction.
class CoarseCg final : public CoarseSolver {
 public:
  CoarseCg(Level<float>& level, std::size_t steps, const Context& context, const Observation& observation)
      : level_(level),
        steps_(steps),
        transport_(context.transport),
        several_ranks_(context.communicator.size() > 1),
        observation_(observation),
        diagonal_(level, context, observation),
        vectors_(context.allocate(5 * stride() * sizeof(float))),
        scratch_(context.allocate(device::sum_scratch_bytes)),
        scalars_(context.allocate((3 * steps + 2) * sizeof(double))) {
    context.stream.fill(scratch_.data(), 0, scratch_.bytes());
  }

  void solve(const float* b, float* x, device::Stream& stream) override {
    auto* const r = vectors_.as<float>();
    const auto vector = [&](std::size_t n) { return r + n * stride(); };
    const CoarseVectors v{level_.space().numbering().owned,
                          diagonal_.inverse_diagonal(),
                          x,
                          r,
                          vector(1),
                          vector(2),
                          vector(3),
                          vector(4)};
    auto* const sums = scalars_.as<double>();
    double* const alphas = sums + 2 * (steps_ + 1);
    sum(stream, sums, Start{v, b});
    for (std::size_t step = 0; step < steps_; ++step) {
      level_.add_to_zero(v.z, v.q, sums + 2 * step + 1, stream);
      if (several_ranks_) {
        observed(observation_.observer, coarse_step, stream,
                 [&] { transport_.allreduce(sums + 2 * step, sums + 2 * step, 2, DataType::f64, stream); });
      }
      sum(stream, sums + 2 * step + 2, Step{v, {sums, alphas}, alphas, step});
    }
  }

  [[nodiscard]] bool enqueues() const override {
    return level_.enqueues() && (!several_ranks_ || transport_.enqueues());
  }
  [[nodiscard]] std::string description() const override { return std::to_string(steps_) + " steps of Jacobi CG"; }

 private:
  [[nodiscard]] std::size_t stride() const { return (level_.length() + 63) / 64 * 64; }

  template <class Function>
  void sum(device::Stream& stream, double* result, Function function) {
    observed(observation_.observer, coarse_step, stream,
             [&] { device::launch_sum(stream, level_.length(), scratch_.data(), result, function); });
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

/// The context of a rank that is alone: nothing of it is exchanged.
Context alone(const Context& context, const transport::Communicator& self) {
  return {self,           context.transport, context.device,          context.memory,
          context.stream, context.allocate,  context.allocate_staging};
}

sem::Mesh whole_mesh(const sem::Shape& shape) { return {shape, sem::Partition(shape.elements, 1), 0}; }

/// By unknown of this rank: its place in a vector of the whole mesh.
std::vector<std::uint32_t> places_of(const sem::FunctionSpace& space, const sem::FunctionSpace& whole) {
  std::unordered_map<std::int64_t, std::uint32_t> unknowns;
  const auto all_ids = whole.mesh().ids();
  const auto ids = space.mesh().ids();
  std::vector<std::uint32_t> places(space.length());
  whole.numbering().for_each_unknown(
      [&](std::size_t node, std::uint32_t unknown) { unknowns[all_ids[node]] = unknown; });
  space.numbering().for_each_unknown(
      [&](std::size_t node, std::uint32_t unknown) { places[unknown] = unknowns.at(ids[node]); });
  return places;
}

void spread(const float* from, const std::uint32_t* places, float* to, std::size_t count, device::Stream& stream) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { to[places[i]] = from[i]; });
}

/// The first `counted` values; the others are 0.
void collect(const float* from, const std::uint32_t* places, float* to, std::size_t counted, std::size_t count,
             device::Stream& stream) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { to[i] = i < counted ? from[places[i]] : 0.0F; });
}

/// The same by every rank for the whole mesh.
class ReplicatedCg final : public CoarseSolver {
 public:
  ReplicatedCg(Level<float>& level, const LevelOptions& options, std::size_t steps, const Context& context,
               const Observation& observation)
      : level_(level),
        transport_(context.transport),
        observation_(observation),
        self_(MPI_COMM_SELF),
        alone_(alone(context, self_)),
        space_(whole_mesh(level.space().mesh().shape()), alone_),
        whole_(space_, options, alone_, observation),
        solver_(make_coarse_cg(whole_, steps, alone_, observation)),
        places_(device::upload(places_of(level.space(), space_), context.allocate, context.stream)),
        b_(context.allocate(space_.length() * sizeof(float))),
        x_(context.allocate(space_.length() * sizeof(float))) {}

  /// Each unknown's owner has its value, all others have 0: the sum over the ranks is exact. The solutions of the ranks
  /// differ by rounding where a GPU adds in any order: each unknown's is that of its owner.
  void solve(const float* b, float* x, device::Stream& stream) override {
    const auto* const places = places_.as<std::uint32_t>();
    observed(observation_.observer, coarse_step, stream, [&] {
      stream.fill(b_.data(), 0, b_.bytes());
      spread(b, places, b_.as<float>(), level_.space().numbering().owned, stream);
      transport_.allreduce(b_.data(), b_.data(), space_.length(), DataType::f32, stream);
    });
    solver_->solve(b_.as<float>(), x_.as<float>(), stream);
    observed(observation_.observer, coarse_step, stream,
             [&] { collect(x_.as<float>(), places, x, level_.space().numbering().owned, level_.length(), stream); });
    level_.add_over_ranks(x, stream);
  }

  [[nodiscard]] bool enqueues() const override {
    return transport_.enqueues() && level_.enqueues() && solver_->enqueues();
  }
  [[nodiscard]] std::string description() const override {
    return solver_->description() + ", by every rank for the whole mesh";
  }

 private:
  Level<float>& level_;
  transport::Transport& transport_;
  const Observation& observation_;
  transport::Communicator self_;
  Context alone_;
  sem::FunctionSpace space_;
  Level<float> whole_;
  std::unique_ptr<CoarseSolver> solver_;
  device::Buffer places_;
  device::Buffer b_;
  device::Buffer x_;
};

}  // namespace

std::unique_ptr<CoarseSolver> make_coarse_cg(Level<float>& level, std::size_t steps, const Context& context,
                                             const Observation& observation) {
  return std::make_unique<CoarseCg>(level, steps, context, observation);
}

std::unique_ptr<CoarseSolver> make_replicated_cg(Level<float>& level, const LevelOptions& options, std::size_t steps,
                                                 const Context& context, const Observation& observation) {
  return std::make_unique<ReplicatedCg>(level, options, steps, context, observation);
}

}  // namespace commlens::solvers
