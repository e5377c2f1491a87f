#include "benchmarks/bp5/problem.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "benchmarks/spectral_elements/inner_products.hpp"
#include "device/upload.hpp"
#include "gather_scatter/choice.hpp"

namespace commlens::bp5 {

namespace gs = gather_scatter;
using sem::Storage;

/// Each step takes seconds for a large mesh.
Problem::Problem(Run& run, const Options& options)
    : SolveProblem(run), options_(options), mesh_(options.mesh.of_case(run.ranks()).mesh(run.rank(), run.ranks())) {
  report_mesh(mesh_);
  number_unknowns();
  Run::heartbeat();
  allocate(space_.length);
  energy_ = run.buffer(sizeof(double));
  poisson_ = sem::make_poisson<double>(mesh_, numbering_, options.geometry, options.storage, run.context());
  Run::heartbeat();
  choose_exchange();
  const auto assemble = [this](double* vector, device::Stream& stream) { gather_scatter_->apply(vector, stream); };
  check_multiplicities(assemble);
  weigh();
  Run::heartbeat();
  write_right_hand_side(options.rhs, space_, assemble);
  make_solver();
}

void Problem::number_unknowns() {
  auto ids = mesh_.ids();
  const auto fixed = mesh_.on_boundary();
  numbering_ = sem::number(ids, fixed, run().communicator());
  if (options_.storage == Storage::unique) {
    sharing_ = numbering_.sharing;
    space_ = {.length = numbering_.unknowns, .counted = numbering_.owned, .added_from = numbering_.alone};
    return;
  }
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (fixed[node] != 0) ids[node] = 0;
  }
  sharing_ = gs::discover(ids, run().communicator());
  space_ = {.length = ids.size()};
}

/// As nekRS does: every mode is timed, and the one whose slowest rank is fastest is used.
void Problem::choose_exchange() {
  const Context context = run().context();
  const gs::ValueKind kind = options_.exchange_kind();
  auto selection = gs::select(options_.mode.method, gs::make_lists(sharing_, context), image_buffer().data(), sharing_,
                              kind, context);
  if (!selection.operation) options_.mode.refuse(selection.unsupported);
  gather_scatter_ = std::move(selection.operation);
  use_exchange(selection);
}

/// From the multiplicities in the image.
void Problem::weigh() {
  if (options_.storage == Storage::unique) return;
  device::Stream& stream = run().stream();
  weights_ = run().buffer(space_.length * sizeof(double));
  stream.copy(weights_.data(), image(), weights_.bytes());
  invert(weights_.as<double>(), space_.length, stream);
  space_.weights = weights_.as<double>();
}

void Problem::make_solver() {
  const bool overlap = options_.overlap && run().ranks() > 1;
  operator_ = std::make_unique<sem::AssembledPoisson<double>>(*poisson_, *gather_scatter_, mesh_.boundary_elements(),
                                                              mesh_.elements(), overlap);
  auto limits = options_.limits();
  limits.graphs = options_.graphs.used(run(), gather_scatter_->enqueues());
  use_graphs(limits.graphs);
  solver_ = std::make_unique<solvers::ConjugateGradients>(
      options_.solver, space_, limits,
      [this](const double* input, double* output, double* energy, device::Stream& stream, device::Traversal traversal) {
        operator_->apply(input, output, energy, stream, traversal);
      },
      run().context());
}

void Problem::solve() { solve_by(*solver_); }

double Problem::apply_operator() {
  device::Stream& stream = run().stream();
  stream.fill(image_buffer().data(), 0, image_buffer().bytes());
  operator_->apply(x(), image_buffer().as<double>(), energy_.as<double>(), stream);
  return run().communicator().sum_of_reals(device::download(energy_.as<double>(), stream));
}

}  // namespace commlens::bp5
