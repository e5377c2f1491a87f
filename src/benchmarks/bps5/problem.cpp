#include "benchmarks/bps5/problem.hpp"

#include <fmt/format.h>

#include <vector>

#include "benchmarks/spectral_elements/right_hand_side.hpp"
#include "benchmarks/spectral_elements/vector_checks.hpp"
#include "device/upload.hpp"
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
    : run_(run),
      options_(options),
      space_(options.mesh.of_case(run.ranks()).mesh(run.rank(), run.ranks()), run.context()),
      b_(run.buffer(space_.length() * sizeof(double))),
      x_(run.buffer(space_.length() * sizeof(double))),
      image_(run.buffer(space_.length() * sizeof(double))),
      products_({.length = space_.length(), .counted = space_.numbering().owned}, run.context()) {
  require_sums(run, DataType::f64);
  require_mode(space_, options, run.context());
  for (const std::string& line : sem::lines(sem::properties_of(space_.mesh(), run.communicator()))) run.report(line);
  run.report("");
  Run::heartbeat();
  operator_ = std::make_unique<solvers::Level<double>>(space_, options.level_options(), run.context(), observation_);
  const gs::Selection& selection = operator_->exchange();
  exchange_ = gs::configuration(selection.method, run.transport_name(), run.memory());
  if (selection.timing) {
    run.report("used config over " + run.transport_name() + ": " + gs::describe(*selection.timing, exchange_));
  }
  check_multiplicities();
  write_right_hand_side();
  Run::heartbeat();
  auto preconditioner = options.multigrid();
  // hypre would wait for ever for rows that a wrong exchange has made up. The solve fails anyway.
  if (!run.communicator().first(set_up_error_).empty()) preconditioner.coarse = solvers::Coarse::cg;
  multigrid_ = std::make_unique<solvers::Multigrid>(space_, preconditioner, run.context(), observation_);
  Run::heartbeat();
  auto limits = options.fgmres();
  launches_graphs_ = limits.graphs = options.graphs.used(run, operator_->enqueues() && multigrid_->enqueues());
  solver_ = std::make_unique<solvers::Fgmres>(
      *operator_,
      [this](const float* input, float* output, device::Stream& stream) { multigrid_->apply(input, output, stream); },
      limits, run.context(), observation_);
}

void Problem::check_multiplicities() {
  device::Stream& stream = run_.stream();
  device::upload(space_.from_nodes(std::vector<double>(space_.mesh().nodes(), 1.0)), image_.data(), stream);
  operator_->add_over_ranks(image_.as<double>(), stream);
  set_up_error_ = wrong_multiplicity(device::download(image(), space_.length(), stream), layout());
}

void Problem::write_right_hand_side() {
  device::upload(space_.from_nodes(right_hand_side(space_.mesh(), options_.rhs)), b_.data(), run_.stream());
  operator_->add_over_ranks(b_.as<double>(), run_.stream());
  norm_of_b_ = products_.norm(b());
}

void Problem::solve() {
  solution_ = solver_->solve(b(), x_.as<double>(), run_.stream(), [] { Run::heartbeat(); });
}

void Problem::solve_observed(StepObserver& observer) {
  observation_.observer = &observer;
  solve();
  observation_.observer = nullptr;
}

void Problem::poison() { run_.stream().fill(x_.data(), 0xFF, x_.bytes()); }

void Problem::apply_operator() { operator_->apply(x(), image_.as<double>(), run_.stream()); }

void Problem::solve_coarse() { multigrid_->solve_coarsest(run_.stream()); }

}  // namespace commlens::bps5
