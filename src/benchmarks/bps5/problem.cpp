#include "benchmarks/bps5/problem.hpp"

#include <memory>
#include <string>

#include "device/device.hpp"
#include "gather_scatter/choice.hpp"

namespace commlens::bps5 {

namespace gs = gather_scatter;

namespace {

/// The wanted mode must be there on all levels: before anything is made of it.
void require_mode(const sem::FunctionSpace& space, const Options& options, const Context& context) {
  if (!options.mode.method) return;
  const gs::ValueKind kind{.type = DataType::f32, .exchange_type = DataType::f32};
  const std::string reason = gs::unsupported(*options.mode.method, space.numbering().sharing, kind, context);
  if (!reason.empty()) options.mode.refuse(reason);
}

}  // namespace

/// Each step takes seconds for a large mesh.
Problem::Problem(Run& run, const Options& options)
    : SolveProblem(run),
      options_(options),
      space_(options.mesh.of_case(run.ranks()).mesh(run.rank(), run.ranks()), run.context()) {
  allocate(space_.length());
  require_sums(run, DataType::f64);
  require_mode(space_, options, run.context());
  report_mesh(space_.mesh());
  operator_ = std::make_unique<solvers::Level<double>>(space_, options.level_options(), run.context(), observation_);
  use_exchange(operator_->exchange());
  const auto assemble = [this](double* vector, device::Stream& stream) { operator_->add_over_ranks(vector, stream); };
  check_multiplicities(assemble);
  write_right_hand_side(options.rhs, {.length = space_.length(), .counted = space_.numbering().owned}, assemble);
  Run::heartbeat();
  auto preconditioner = options.multigrid();
  // hypre would wait for ever for rows that a wrong exchange has made up. The solve fails anyway.
  if (!run.communicator().first(set_up_error()).empty()) preconditioner.coarse = solvers::Coarse::cg;
  multigrid_ = std::make_unique<solvers::Multigrid>(space_, preconditioner, run.context(), observation_);
  Run::heartbeat();
  auto limits = options.fgmres();
  limits.graphs = options.graphs.used(run, operator_->enqueues() && multigrid_->enqueues());
  use_graphs(limits.graphs);
  solver_ = std::make_unique<solvers::Fgmres>(
      *operator_,
      [this](const float* input, float* output, device::Stream& stream) { multigrid_->apply(input, output, stream); },
      limits, run.context(), observation_);
}

void Problem::solve() { solve_by(*solver_); }

void Problem::solve_observed(StepObserver& observer) {
  observation_.observer = &observer;
  solve();
  observation_.observer = nullptr;
}

void Problem::apply_operator() { operator_->apply(x(), image_buffer().as<double>(), run().stream()); }

void Problem::solve_coarse() { multigrid_->solve_coarsest(run().stream()); }

}  // namespace commlens::bps5
