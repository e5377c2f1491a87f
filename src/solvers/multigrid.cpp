#include "solvers/multigrid.hpp"

#include <algorithm>
#include <utility>

#include "device/launch.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::solvers {

namespace {

void copy(const float* from, float* to, std::size_t length, device::Stream& stream) {
  device::launch(stream, length, COMMLENS_LAMBDA(std::size_t i) { to[i] = from[i]; });
}

sem::Mesh with_order(const sem::Mesh& mesh, int order, const transport::Communicator& communicator) {
  sem::Shape shape = mesh.shape();
  shape.order = order;
  return {shape, sem::Partition(shape.elements, communicator.size()), communicator.rank()};
}

}  // namespace

Multigrid::Multigrid(const sem::FunctionSpace& finest, const Options& options, const Context& context,
                     const Observation& observation)
    : observation_(observation), smoothing_(options.orders.size() - 1) {
  const auto add_level = [&](const sem::FunctionSpace& space) {
    levels_.push_back(std::make_unique<Level<float>>(space, options.level, context, observation));
  };
  add_level(finest);
  for (std::size_t level = 1; level < options.orders.size(); ++level) {
    auto mesh = with_order(finest.mesh(), options.orders[level], context.communicator);
    coarser_spaces_.push_back(std::make_unique<sem::FunctionSpace>(std::move(mesh), context));
    add_level(*coarser_spaces_.back());
    x_.push_back(context.allocate(levels_.back()->length() * sizeof(float)));
  }
  for (std::size_t level = 0; level < smoothing_.size(); ++level) make_smoother(level, options, context);
  residuals_.push_back(context.allocate(levels_.back()->length() * sizeof(float)));
  coarse_ = make_coarse(options, context);
}

std::unique_ptr<CoarseSolver> Multigrid::make_coarse(const Options& options, const Context& context) {
  Level<float>& level = *levels_.back();
  if (options.coarse == Coarse::boomeramg) return make_boomeramg(level, context, observation_);
  if (options.coarse == Coarse::cg_replicated) {
    return make_replicated_cg(level, options.level, options.coarse_steps, context, observation_);
  }
  return make_coarse_cg(level, options.coarse_steps, context, observation_);
}

void Multigrid::make_smoother(std::size_t level, const Options& options, const Context& context) {
  constexpr std::size_t arnoldi_steps = 10;
  Level<float>& here = *levels_[level];
  Smoothing& smoothing = smoothing_[level];
  if (options.smoother == Smoother::chebyshev_jacobi) {
    smoothing.preconditioner = std::make_unique<Jacobi>(here, context, observation_);
  } else {
    smoothing.preconditioner = std::make_unique<Schwarz>(here, options.level, context, observation_);
  }
  spectral_radii_.push_back(spectral_radius(here, *smoothing.preconditioner, arnoldi_steps, context));
  const std::size_t degree = options.smoother == Smoother::ras ? 0 : options.degree;
  smoothing.smoother = std::make_unique<Chebyshev>(
      here, *smoothing.preconditioner, degree, Chebyshev::Bounds::of(spectral_radii_.back()), context, observation_);
  smoothing.to_coarser = std::make_unique<Interpolation>(*levels_[level + 1], here, context, observation_);
  smoothing.change = context.allocate(here.length() * sizeof(float));
  residuals_.push_back(context.allocate((here.length() + smoothing.preconditioner->ghosts()) * sizeof(float)));
  smoothing.step = step_name(here.space().order(), "vectors");
}

bool Multigrid::enqueues() const {
  return coarse_->enqueues() &&
         std::all_of(levels_.begin(), levels_.end(), [](const auto& level) { return level->enqueues(); }) &&
         std::all_of(smoothing_.begin(), smoothing_.end(),
                     [](const Smoothing& smoothing) { return smoothing.preconditioner->enqueues(); });
}

void Multigrid::solve_coarsest(device::Stream& stream) {
  if (x_.empty()) return;
  coarse_->solve(residuals_.back().as<float>(), x_.back().as<float>(), stream);
}

void Multigrid::apply(const float* b, float* x, device::Stream& stream) {
  if (smoothing_.empty()) return coarse_->solve(b, x, stream);
  observed(observation_.observer, smoothing_.front().step, stream,
           [&] { copy(b, residuals_.front().as<float>(), levels_.front()->length(), stream); });
  cycle(0, x, stream);
}

void Multigrid::cycle(std::size_t level, float* x, device::Stream& stream) {
  auto* const residual = residuals_[level].as<float>();
  if (level == smoothing_.size()) return coarse_->solve(residual, x, stream);
  Smoothing& here = smoothing_[level];
  auto* const change = here.change.as<float>();
  here.smoother->start(residual, x, stream);
  here.to_coarser->restrict_to_coarse(residual, residuals_[level + 1].as<float>(), stream);
  cycle(level + 1, x_[level].as<float>(), stream);
  here.to_coarser->interpolate_to_fine(x_[level].as<float>(), change, stream);
  levels_[level]->subtract(change, residual, stream);
  here.smoother->finish(residual, x, change, stream);
}

}  // namespace commlens::solvers
