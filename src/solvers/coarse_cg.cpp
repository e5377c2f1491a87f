#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/gpu_backend.hpp"
#include "device/launch.hpp"
#include "device/upload.hpp"
#include "solvers/coarse_solver.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

std::string description_of(std::size_t steps) { return std::to_string(steps) + " steps of Jacobi CG"; }

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

/// The assembled matrix for CoarseCgCall.
class CoarseRows {
 public:
  CoarseRows(const sem::FunctionSpace& space, const Context& context) {
    const std::size_t rows = space.length();
    std::vector<std::uint32_t> columns(CoarseCgCall::entries * rows, none);
    std::vector<double> values(columns.size());
    for (std::size_t element = 0; element < space.mesh().elements(); ++element) {
      const auto matrix = element_matrix(space.mesh().vertices(element));
      const std::uint32_t* const unknowns = space.numbering().of_node.data() + element * corners;
      for (std::size_t place = 0; place < matrix.size(); ++place) {
        const std::uint32_t row = unknowns[place / corners];
        const std::uint32_t column = unknowns[place % corners];
        if (row == sem::Numbering::fixed || column == sem::Numbering::fixed) continue;
        std::size_t at = row & ~sem::Numbering::by_several;
        while (columns[at] != none && columns[at] != (column & ~sem::Numbering::by_several)) at += rows;
        columns[at] = column & ~sem::Numbering::by_several;
        values[at] += matrix[place];
      }
    }
    std::replace(columns.begin(), columns.end(), none, 0U);
    columns_ = device::upload(columns, context.allocate, context.stream);
    values_ = device::upload(std::vector<float>(values.begin(), values.end()), context.allocate, context.stream);
  }

  [[nodiscard]] const std::uint32_t* columns() const { return columns_.as<std::uint32_t>(); }
  [[nodiscard]] const float* values() const { return values_.as<float>(); }

 private:
  static constexpr std::size_t corners = 8;
  static constexpr std::uint32_t none = sem::Numbering::fixed;

  device::Buffer columns_;
  device::Buffer values_;
};

/// The same as CoarseCg for a rank that is alone, by one kernel on a GPU.
class CoarseCgInOneKernel final : public CoarseSolver {
 public:
  CoarseCgInOneKernel(Level<float>& level, std::size_t steps, std::size_t blocks, const Context& context,
                      const Observation& observation)
      : level_(level),
        steps_(steps),
        observation_(observation),
        diagonal_(level, context, observation),
        rows_(level.space(), context),
        exchanged_(context.allocate(2 * level.length() * sizeof(double))),
        sums_(context.allocate(4 * blocks * sizeof(double))) {}

  void solve(const float* b, float* x, device::Stream& stream) override {
    const CoarseCgCall call{.rows = level_.length(),
                            .steps = steps_,
                            .columns = rows_.columns(),
                            .values = rows_.values(),
                            .inverse = diagonal_.inverse_diagonal(),
                            .b = b,
                            .x = x,
                            .exchanged = exchanged_.as<double>(),
                            .sums = sums_.as<double>()};
    if constexpr (device::has_gpu_backend) {
      observed(observation_.observer, coarse_step, stream, [&] { coarse_cg_on_gpu(call, stream); });
    }
  }

  [[nodiscard]] bool enqueues() const override { return true; }
  [[nodiscard]] std::string description() const override { return description_of(steps_); }
  /// The matrix, its diagonal, b and x.
  [[nodiscard]] double traffic(double /*of_operator*/) const override {
    const std::size_t of_row = CoarseCgCall::entries * (sizeof(std::uint32_t) + sizeof(float)) + 3 * sizeof(float);
    return static_cast<double>(level_.length() * of_row);
  }

 private:
  Level<float>& level_;
  std::size_t steps_;
  const Observation& observation_;
  Jacobi diagonal_;
  CoarseRows rows_;
  device::Buffer exchanged_;
  device::Buffer sums_;
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
    stream.fill(scalars_.data(), 0, scalars_.bytes());  // the operator adds to its energies
    sum(stream, sums, Start{v, b});
    for (std::size_t step = 0; step < steps_; ++step) {
      level_.apply_to_zero(v.z, v.q, sums + 2 * step + 1, stream);
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
  [[nodiscard]] std::string description() const override { return description_of(steps_); }
  [[nodiscard]] double traffic(double of_operator) const override {
    return static_cast<double>(steps_) * (of_operator + 12 * static_cast<double>(level_.length()) * sizeof(float));
  }

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
  [[nodiscard]] double traffic(double of_operator) const override {
    const double ranks =
        static_cast<double>(space_.mesh().elements()) / static_cast<double>(level_.space().mesh().elements());
    return solver_->traffic(ranks * of_operator);
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
  if constexpr (device::has_gpu_backend) {
    const bool alone = context.communicator.size() == 1 && context.stream.on_gpu() && level.length() > 0;
    const std::size_t blocks = alone ? coarse_cg_blocks(level.length()) : 0;
    if (blocks > 0) return std::make_unique<CoarseCgInOneKernel>(level, steps, blocks, context, observation);
  }
  return std::make_unique<CoarseCg>(level, steps, context, observation);
}

std::unique_ptr<CoarseSolver> make_replicated_cg(Level<float>& level, const LevelOptions& options, std::size_t steps,
                                                 const Context& context, const Observation& observation) {
  return std::make_unique<ReplicatedCg>(level, options, steps, context, observation);
}

}  // namespace commlens::solvers
