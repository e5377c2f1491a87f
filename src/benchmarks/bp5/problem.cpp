#include "benchmarks/bp5/problem.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "benchmarks/spectral_elements/right_hand_side.hpp"
#include "benchmarks/spectral_elements/vector_checks.hpp"
#include "device/upload.hpp"
#include "gather_scatter/choice.hpp"

namespace commlens::bp5 {

namespace gs = gather_scatter;
using sem::Storage;

/// Each step takes seconds for a large mesh.
Problem::Problem(Run& run, const Options& options)
    : run_(run), options_(options), mesh_(options.mesh.of_case(run.ranks()).mesh(run.rank(), run.ranks())) {
  for (const std::string& line : sem::lines(sem::properties_of(mesh_, run.communicator()))) run.report(line);
  run.report("");
  Run::heartbeat();
  number_unknowns();
  Run::heartbeat();
  allocate_vectors();
  poisson_ = sem::make_poisson<double>(mesh_, numbering_, options.geometry, options.storage, run.context());
  Run::heartbeat();
  choose_exchange();
  weigh();
  Run::heartbeat();
  write_right_hand_side();
  make_solver();
}

void Problem::number_unknowns() {
  auto ids = mesh_.ids();
  const auto fixed = mesh_.on_boundary();
  numbering_ = sem::number(ids, fixed, run_.communicator());
  if (options_.storage == Storage::unique) {
    sharing_ = numbering_.sharing;
    space_ = {.length = numbering_.unknowns, .counted = numbering_.owned, .added_from = numbering_.alone};
    return;
  }
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (fixed[node] != 0) ids[node] = 0;
  }
  sharing_ = gs::discover(ids, run_.communicator());
  space_ = {.length = ids.size()};
}

void Problem::allocate_vectors() {
  const std::size_t bytes = space_.length * sizeof(double);
  b_ = run_.buffer(bytes);
  x_ = run_.buffer(bytes);
  image_ = run_.buffer(bytes);
  energy_ = run_.buffer(sizeof(double));
}

/// As nekRS does: every mode is timed, and the one whose slowest rank is fastest is used.
void Problem::choose_exchange() {
  const Context context = run_.context();
  const gs::ValueKind kind = options_.exchange_kind();
  auto selection =
      gs::select(options_.mode.method, gs::make_lists(sharing_, context), image_.data(), sharing_, kind, context);
  if (!selection.operation) options_.mode.refuse(selection.unsupported);
  gather_scatter_ = std::move(selection.operation);
  exchange_ = gs::configuration(selection.method, run_.transport_name(), run_.memory());
  if (selection.timing) {
    run_.report("used config over " + run_.transport_name() + ": " + gs::describe(*selection.timing, exchange_));
  }
}

/// How often each unknown is stored: exactly known, and what the gather-scatter of ones must give.
void Problem::weigh() {
  device::Stream& stream = run_.stream();
  const std::vector<double> ones(mesh_.nodes(), 1.0);
  device::upload(layout().from_nodes(ones), image_.data(), stream);
  gather_scatter_->apply(image_.data(), stream);
  set_up_error_ = wrong_multiplicity(device::download(image_.as<double>(), space_.length, stream), layout());
  if (options_.storage == Storage::unique) return;
  weights_ = run_.buffer(space_.length * sizeof(double));
  stream.copy(weights_.data(), image_.data(), weights_.bytes());
  invert(weights_.as<double>(), space_.length, stream);
  space_.weights = weights_.as<double>();
}

void Problem::write_right_hand_side() {
  const auto nodal = right_hand_side(mesh_, options_.rhs);
  device::upload(layout().from_nodes(nodal), b_.data(), run_.stream());
  gather_scatter_->apply(b_.data(), run_.stream());
  products_ = std::make_unique<InnerProducts>(space_, run_.context());
  norm_of_b_ = products_->norm(b());
}

void Problem::make_solver() {
  const bool overlap = options_.overlap && run_.ranks() > 1;
  operator_ = std::make_unique<sem::AssembledPoisson<double>>(*poisson_, *gather_scatter_, mesh_.boundary_elements(),
                                                              mesh_.elements(), overlap);
  auto limits = options_.limits();
  launches_graphs_ = limits.graphs = options_.graphs.used(run_, gather_scatter_->enqueues());
  solver_ = std::make_unique<solvers::ConjugateGradients>(
      options_.solver, space_, limits,
      [this](const double* input, double* output, double* energy, device::Stream& stream, device::Traversal traversal) {
        operator_->apply(input, output, energy, stream, traversal);
      },
      run_.context());
}

void Problem::solve() {
  solution_ = solver_->solve(b(), x_.as<double>(), run_.stream(), [] { Run::heartbeat(); });
}

void Problem::poison() { run_.stream().fill(x_.data(), 0xFF, x_.bytes()); }

double Problem::apply_operator() {
  device::Stream& stream = run_.stream();
  stream.fill(image_.data(), 0, image_.bytes());
  operator_->apply(x(), image_.as<double>(), energy_.as<double>(), stream);
  return run_.communicator().sum_of_reals(device::download(energy_.as<double>(), stream));
}

}  // namespace commlens::bp5
