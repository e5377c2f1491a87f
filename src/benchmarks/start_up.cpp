// What a program pays before it communicates: MPI_Init (osu_init in the OSU micro-benchmarks 7), and communicators.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "base/error.hpp"
#include "device/upload.hpp"
#include "harness/benchmark.hpp"

namespace commlens {
namespace {

constexpr Metric init_ms{"init_ms", unit::ms, Better::lower, "time of MPI_Init_thread on the slowest rank", "MPI_Init"};
constexpr Fact least_init_ms{"least_init_ms", unit::ms, "time of MPI_Init_thread on the fastest rank"};
constexpr Fact mean_init_ms{"mean_init_ms", unit::ms, "mean over the ranks of the time of MPI_Init_thread"};

struct InitOptions {
  void describe(OptionSet& /*options*/) {}
  [[nodiscard]] static MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) { return {}; }
};

/// Once a launch: with --launches the interval is that of several.
void init(Run& run, const InitOptions& /*options*/) {
  if (run.transport_name() != "mpi") throw Unsupported("init is of MPI itself: use --transport mpi");
  const auto seconds = transport::spread(run.mpi_init_s(), run.communicator());
  run.fact(least_init_ms, seconds.minimum * unit::ms.scale);
  run.fact(mean_init_ms, seconds.average * unit::ms.scale);
  run.measured("MPI_Init_thread", run.mpi_init_s(), init_ms());
}

BENCHMARK("init", "starting MPI: MPI_Init (osu_init)", init, InitOptions, .metrics = {init_ms},
          .facts = {least_init_ms, mean_init_ms}, .measures_mpi_init = true);

enum class Creation { dup, split };
ENUM_NAMES(Creation, {dup, "dup"}, {split, "split"});

constexpr Metric creation_us{"creation_us", unit::us, Better::lower,
                             "time to make a communicator, with what the transport makes for it, and to free it"};

struct CommunicatorOptions {
  Choices<Creation> by;
  std::size_t groups = 0;  // not to be typed: how the default is told from a choice

  void describe(OptionSet& options) {
    options.add("by", by, "all", "MPI_Comm_dup of all ranks, or MPI_Comm_split into --groups");
    options.add("groups", groups, "communicators that a split makes: rank r is in number r modulo this")
        .shown_as([&count = groups] { return std::to_string(count == 0 ? 2 : count); });
  }
  void resolve(int ranks) {
    if (groups > 0 && by.values == std::vector{Creation::dup}) {
      throw UsageError("groups", std::to_string(groups),
                       "MPI_Comm_dup makes one communicator: write --by split, or leave it out");
    }
    if (groups == 0) groups = 2;
    const auto most = static_cast<std::size_t>(std::max(ranks, 2));
    if (groups > most) {
      throw UsageError("groups", std::to_string(groups), "write at most the number of ranks, " + std::to_string(ranks));
    }
    groups = std::min(groups, static_cast<std::size_t>(std::max(ranks, 1)));
  }
  [[nodiscard]] static MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) {
    return {.buffers = sizeof(std::int32_t), .operation = sizeof(std::int32_t)};
  }
};

void communicator_creation(Run& run, const CommunicatorOptions& options) {
  if (!run.transport().can_split()) throw Unsupported("this transport has no sub-communicators");
  require_sums(run, DataType::i32);
  const bool splits = options.by == Creation::split;
  const int groups = splits ? static_cast<int>(options.groups) : 1;
  const int color = run.rank() % groups;
  const auto number = run.buffer(sizeof(std::int32_t));
  std::unique_ptr<transport::Transport> last;
  // The ranks of the group are counted through it: each contributes its rank plus one.
  const auto verify = [&](std::size_t) {
    std::int32_t expected = 0;
    for (int rank = color; rank < run.ranks(); rank += groups) expected += rank + 1;
    device::upload(std::vector<std::int32_t>{run.rank() + 1}, number.data(), run.stream());
    last->allreduce(number.data(), number.data(), 1, DataType::i32, run.stream());
    const auto sum = device::download(number.as<std::int32_t>(), run.stream());
    Verdict verdict{.elements = 1};
    if (sum != expected) {
      verdict.error =
          "the sum over the new communicator is " + std::to_string(sum) + ", must be " + std::to_string(expected);
    }
    return verdict;
  };
  run.measure({.operation = splits ? "MPI_Comm_split" : "MPI_Comm_dup",
               .operate =
                   [&] {
                     last.reset();
                     last = run.transport().split(splits ? run.communicator().split(color)
                                                         : transport::Communicator(run.communicator().handle()));
                   },
               .verify = verify,
               .repetition = {.repeat = 20, .warmup = 2, .batches = 10},
               .metrics = {creation_us()}});
}

BENCHMARK("communicator-creation", "making communicators: MPI_Comm_dup and MPI_Comm_split, over every transport",
          communicator_creation, CommunicatorOptions, .metrics = {creation_us});

}  // namespace
}  // namespace commlens
