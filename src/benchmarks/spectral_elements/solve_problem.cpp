#include "benchmarks/spectral_elements/solve_problem.hpp"

#include <utility>
#include <vector>

#include "device/upload.hpp"

namespace commlens {

void SolveProblem::report_mesh(const sem::Mesh& mesh) {
  for (const std::string& line : sem::lines(sem::properties_of(mesh, run_.communicator()))) run_.report(line);
  run_.report("");
  heartbeat();
}

void SolveProblem::allocate(std::size_t length) {
  const std::size_t bytes = length * sizeof(double);
  b_ = run_.buffer(bytes);
  x_ = run_.buffer(bytes);
  image_ = run_.buffer(bytes);
}

void SolveProblem::use_exchange(const gather_scatter::Selection& selection) {
  exchange_ = gather_scatter::configuration(selection.method, run_.transport_name(), run_.memory());
  if (!selection.timing) return;
  run_.report("used config over " + run_.transport_name() + ": " +
              gather_scatter::describe(*selection.timing, exchange_));
}

void SolveProblem::check_multiplicities(const Assemble& assemble) {
  device::Stream& stream = run_.stream();
  const VectorLayout places = layout();
  device::upload(places.from_nodes(std::vector<double>(places.mesh.nodes(), 1.0)), image_.data(), stream);
  assemble(image_.as<double>(), stream);
  set_up_error_ = wrong_multiplicity(device::download(image(), places.length(), stream), places);
}

void SolveProblem::write_right_hand_side(RightHandSide kind, const solvers::VectorSpace& space,
                                         const Assemble& assemble) {
  const VectorLayout places = layout();
  device::upload(places.from_nodes(right_hand_side(places.mesh, kind)), b_.data(), run_.stream());
  assemble(b_.as<double>(), run_.stream());
  products_ = std::make_unique<InnerProducts>(space, run_.context());
  norm_of_b_ = products_->norm(b());
}

Verdict SolveValidation::verify(std::string error, bool thoroughly) {
  const VectorLayout layout = problem_.layout();
  if (thoroughly) {
    const auto inspection = inspect(problem_.x(), problem_.image(), layout, run_.stream(), run_.communicator());
    if (error.empty()) error = inspection.error;
    largest_error_ = inspection.largest_error;
  }
  if (!problem_.set_up_error().empty()) error = problem_.set_up_error();
  return {.elements = layout.length(), .error = std::move(error)};
}

}  // namespace commlens
