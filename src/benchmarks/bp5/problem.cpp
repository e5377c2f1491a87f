#include "benchmarks/bp5/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "benchmarks/spectral_elements/inner_products.hpp"
#include "benchmarks/spectral_elements/solve_report.hpp"
#include "device/data_type.hpp"
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
  heartbeat();
  allocate(space_.length);
  energy_ = run.buffer(sizeof(double));
  poisson_ = sem::make_poisson<double>(mesh_, numbering_, options.geometry, options.storage, run.context());
  heartbeat();
  choose_exchange();
  const auto assemble = [this](double* vector, device::Stream& stream) { gather_scatter_->apply(vector, stream); };
  check_multiplicities(assemble);
  weigh();
  heartbeat();
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
  limits.graphs = options_.launches_graphs(run(), gather_scatter_->enqueues());
  use_graphs(limits.graphs);
  solver_ = std::make_unique<solvers::ConjugateGradients>(
      options_.solver, space_, limits,
      [this](const double* input, double* output, double* energy, device::Stream& stream, device::Traversal traversal) {
        operator_->apply(input, output, energy, stream, traversal);
      },
      run().context());
}

double Problem::apply_operator() {
  device::Stream& stream = run().stream();
  stream.fill(image_buffer().data(), 0, image_buffer().bytes());
  stream.fill(energy_.data(), 0, energy_.bytes());
  operator_->apply(x(), image_buffer().as<double>(), energy_.as<double>(), stream);
  return run().communicator().sum_of_reals(device::download(energy_.as<double>(), stream));
}

namespace {

/// If nothing stays in a cache between two kernels, and everything within one.
double bytes_of_iteration(const Problem& problem) {
  const Options& options = problem.options();
  const VectorLayout layout = problem.layout();
  const auto nodes = static_cast<double>(layout.mesh.nodes());
  const auto length = static_cast<double>(layout.length());
  const bool unique = options.storage == sem::Storage::unique;
  double bytes = solvers::ConjugateGradients::traffic(options.solver, problem.space());
  // The operator reads its input and writes its output, to a part of which it adds what is there, by numbers of
  // unknowns.
  bytes += 2 * length * sizeof(double);
  if (unique) {
    bytes += static_cast<double>(layout.length() - problem.space().added_from) * sizeof(double);
    bytes += nodes * sizeof(std::uint32_t);
  }
  bytes += options.geometry == sem::Geometry::stored
               ? nodes * 6 * sizeof(double)
               : static_cast<double>(layout.mesh.elements()) * 8 * 3 * sizeof(double);
  // The gather-scatter reads and writes what is in groups, by a number per node and one per group.
  const gather_scatter::Sharing& sharing = problem.sharing();
  const auto grouped = static_cast<double>(sharing.local.nodes.size() + sharing.shared.nodes.size());
  const auto groups = static_cast<double>(sharing.local.size() + sharing.shared.size());
  return bytes + grouped * (2 * sizeof(double) + sizeof(std::uint32_t)) + groups * sizeof(std::uint32_t);
}

/// Messages of 32 bits leave their rounding in every sum.
double tolerance_of(const Options& options) { return options.exchange_type == RealType::f32 ? 1e-4 : 1e-9; }

}  // namespace

/// nekRS counts the vector operations, too.
Work work_of(const Problem& problem, int ranks) {
  const ElementWork work = element_work(problem.mesh(), ranks);
  return {.dof = work.dof,
          .flops_per_iteration = work.application + 16 * work.nodes,
          .flops_of_start = work.application + 9 * work.nodes,
          .bytes_per_iteration = bytes_of_iteration(problem)};
}

/// b - A x must be the residual of the iteration, with the norm that it had there, whatever the iteration did; and both
/// ways to compute x . A x must agree.
std::string wrong_sums(Problem& problem) {
  const double tolerance = tolerance_of(problem.options());
  const double of_elements = problem.apply_operator();
  const InnerProducts& products = problem.products();
  const double of_vectors = products.product(problem.x(), problem.image());
  const double difference = products.difference(problem.b(), problem.image(), problem.residual());
  const double norm = products.norm(problem.residual());
  const auto& residuals = problem.solution().relative_residuals;
  const double known = residuals.back() * problem.norm_of_b();
  double largest = 1;  // |r| may grow far beyond |b|
  for (const double residual : residuals) largest = std::max(largest, residual);
  const double allowed = tolerance * largest * problem.norm_of_b();
  if (!(difference <= allowed)) {
    return fmt::format("b - A x differs from the residual of the iteration by {:.3g} of b",
                       difference / problem.norm_of_b());
  }
  if (!(std::abs(norm - known) <= allowed)) {
    return fmt::format("the norm of the residual is {:.17g}, and was {:.17g} in the iteration", norm, known);
  }
  if (!(std::abs(of_vectors - of_elements) <= tolerance * std::abs(of_elements))) {
    return fmt::format("x . A x is {:.17g}, and {:.17g} as the sum over elements", of_vectors, of_elements);
  }
  return {};
}

}  // namespace commlens::bp5
