#include "solvers/level.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace commlens::solvers {

std::string step_name(int order, const char* step) { return fmt::format("p{} {}", order, step); }

template <class Real>
Level<Real>::Level(const sem::FunctionSpace& space, const LevelOptions& options, const Context& context,
                   const Observation& observation)
    : space_(space),
      observation_(observation),
      poisson_(
          sem::make_poisson<Real>(space.mesh(), space.numbering(), options.geometry, sem::Storage::unique, context)),
      exchanges_(context.communicator.size() > 1),
      overlap_(options.overlap && exchanges_),
      operator_step_(step_name(space.order(), type == DataType::f64 ? "operator f64" : "operator f32")),
      exchange_step_(step_name(space.order(), type == DataType::f64 ? "exchange f64" : "exchange f32")) {
  const gather_scatter::ValueKind kind{.type = type, .exchange_type = options.exchange_type.value_or(type)};
  const device::Buffer scratch = context.allocate(space.length() * sizeof(Real));
  context.stream.fill(scratch.data(), 0, scratch.bytes());
  selection_ =
      gather_scatter::select(options.method, space.lists(), scratch.data(), space.numbering().sharing, kind, context);
  context.stream.wait();
  if (!selection_.operation) throw Error("the gather-scatter is not supported: " + selection_.unsupported);
}

template <class Real>
void Level<Real>::apply_to_zero(const Real* input, Real* output, double* energy, device::Stream& stream) {
  assemble(operator_step_, output, stream,
           [&](sem::ElementRange range) { poisson_->apply(range, input, output, energy, stream); });
}

/// Of several ranks that have an unknown, its owner subtracts from its value, and the others from 0.
template <class Real>
void Level<Real>::subtract(const Real* input, Real* vector, device::Stream& stream) {
  const std::size_t owned = space_.numbering().owned;
  stream.fill(vector + owned, 0, (length() - owned) * sizeof(Real));
  assemble(operator_step_, vector, stream,
           [&](sem::ElementRange range) { poisson_->subtract(range, input, vector, stream); });
}

template <class Real>
void Level<Real>::add_over_ranks(Real* vector, device::Stream& stream) {
  if (!exchanges_) return;
  observed(observation_.observer, exchange_step_, stream, [&] { selection_.operation->apply(vector, stream); });
}

template class Level<double>;
template class Level<float>;

}  // namespace commlens::solvers
