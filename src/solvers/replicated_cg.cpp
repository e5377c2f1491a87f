#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "solvers/coarse_solver.hpp"

namespace commlens::solvers {

namespace {

using sem::Numbering;

/// The context of a rank that is alone: nothing of it is exchanged.
Context alone(const Context& context, const transport::Communicator& self) {
  return {self,           context.transport, context.device,          context.memory,
          context.stream, context.allocate,  context.allocate_staging};
}

sem::Mesh whole_mesh(const sem::Shape& shape) { return {shape, sem::Partition(shape.elements, 1), 0}; }

/// By unknown of this rank: its place in a vector of the whole mesh.
std::vector<std::uint32_t> places_of(const sem::FunctionSpace& space, const sem::FunctionSpace& whole) {
  std::unordered_map<std::int64_t, std::uint32_t> unknowns;
  const auto for_each_unknown = [](const sem::FunctionSpace& of, auto function) {
    const auto ids = of.mesh().ids();
    for (std::size_t node = 0; node < ids.size(); ++node) {
      const std::uint32_t unknown = of.numbering().of_node[node];
      if (unknown != Numbering::fixed) function(ids[node], unknown & ~Numbering::by_several);
    }
  };
  for_each_unknown(whole, [&](std::int64_t id, std::uint32_t unknown) { unknowns[id] = unknown; });
  std::vector<std::uint32_t> places(space.length());
  for_each_unknown(space, [&](std::int64_t id, std::uint32_t unknown) { places[unknown] = unknowns.at(id); });
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

std::unique_ptr<CoarseSolver> make_replicated_cg(Level<float>& level, const LevelOptions& options, std::size_t steps,
                                                 const Context& context, const Observation& observation) {
  return std::make_unique<ReplicatedCg>(level, options, steps, context, observation);
}

}  // namespace commlens::solvers
