// The assembled operator of one polynomial order, in double for the solver, or in float for a level of a multigrid
// preconditioner.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "device/device.hpp"
#include "device/steps.hpp"
#include "gather_scatter/choice.hpp"
#include "sem/function_space.hpp"
#include "sem/poisson.hpp"
#include "transport/context.hpp"

namespace commlens::solvers {

/// An approximation of the inverse of an operator.
class Preconditioner {
 public:
  virtual ~Preconditioner() = default;

  /// Elements beyond the vector's length that `input` of apply_to_zero() must have: room for values of other ranks.
  [[nodiscard]] virtual std::size_t ghosts() const { return 0; }
  /// apply_to_zero() adds to the elements of its output from here, and writes those before.
  [[nodiscard]] virtual std::size_t added_from() const = 0;
  /// Queues output = S input, for an output that holds zeros from added_from(). The ghosts of the input are
  /// overwritten. Collective.
  virtual void apply_to_zero(float* input, float* output, device::Stream& stream) = 0;
  /// Whether the host never waits in apply_to_zero(), so that it can be part of a device::Graph.
  [[nodiscard]] virtual bool enqueues() const = 0;
};

/// Who is told of the steps of a solve: one for all components of it. May be replaced at any time.
struct Observation {
  StepObserver* observer = nullptr;
};

/// How the operators of all levels work.
struct LevelOptions {
  sem::Geometry geometry = sem::Geometry::trilinear;
  std::optional<gather_scatter::Method> method;          ///< none: the fastest, for each level by itself
  std::optional<DataType> exchange_type = std::nullopt;  ///< none: that of the vectors
  bool overlap = true;                                   ///< with the elements inside the rank
};

/// "p7 exchange": a step of the level of order 7.
std::string step_name(int order, const char* step);

template <class Real>
class Level {
 public:
  /// Collective. All that it is given must outlive it. Throws Error where the method is not supported.
  Level(const sem::FunctionSpace& space, const LevelOptions& options, const Context& context,
        const Observation& observation);
  Level(Level&&) = delete;

  [[nodiscard]] const sem::FunctionSpace& space() const { return space_; }
  [[nodiscard]] std::size_t length() const { return space_.length(); }
  [[nodiscard]] const gather_scatter::Selection& exchange() const { return selection_; }
  /// Whether the host never waits in what is queued here.
  [[nodiscard]] bool enqueues() const { return !exchanges_ || selection_.operation->enqueues(); }

  /// Queues output = A input, combined over all ranks.
  void apply(const Real* input, Real* output, device::Stream& stream) {
    stream.fill(output + added_from(), 0, (length() - added_from()) * sizeof(Real));
    apply_to_zero(input, output, nullptr, stream);
  }
  /// The same for an output that holds zeros from added_from(); and *energy += input . A input of this rank's elements.
  void apply_to_zero(const Real* input, Real* output, double* energy, device::Stream& stream);
  /// Elements write the unknowns before this one, which no other element of the rank has.
  [[nodiscard]] std::size_t added_from() const { return space_.numbering().alone; }
  /// Queues vector -= A input, combined over all ranks.
  void subtract(const Real* input, Real* vector, device::Stream& stream);
  /// Queues the sum over the ranks of what each of them has, for every shared unknown.
  void add_over_ranks(Real* vector, device::Stream& stream);
  /// The same, while elements inside the rank are computed: `compute(range)` queues the work of a range of elements,
  /// which adds to `vector`, as a step of `name`.
  template <class Compute>
  void assemble(const std::string& name, Real* vector, device::Stream& stream, Compute compute) {
    StepObserver* const observer = observation_.observer;
    const std::size_t elements = space_.mesh().elements();
    const std::size_t first = overlap_ ? space_.mesh().boundary_elements() : elements;
    observed(observer, name, stream, [&] { compute(sem::ElementRange{0, first}); });
    if (first == elements) return add_over_ranks(vector, stream);
    observed(observer, exchange_step_, stream, [&] { selection_.operation->start(vector, stream); });
    observed(observer, name, stream, [&] {
      compute(sem::ElementRange{first, elements});
      if (!stream.on_gpu()) stream.wait();  // a host stream works only while somebody waits for it
    });
    observed(observer, exchange_step_, stream, [&] {
      selection_.operation->local(vector, stream);
      selection_.operation->finish(vector, stream);
    });
  }

  static constexpr DataType type = sizeof(Real) == sizeof(double) ? DataType::f64 : DataType::f32;

 private:
  const sem::FunctionSpace& space_;
  const Observation& observation_;
  std::unique_ptr<sem::Poisson<Real>> poisson_;
  gather_scatter::Selection selection_;
  bool exchanges_;  ///< there are several ranks
  bool overlap_;
  std::string operator_step_;
  std::string exchange_step_;
};

}  // namespace commlens::solvers
