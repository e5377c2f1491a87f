// The collective operations as benchmarks: each entry of transport::operations() is one.
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/parse.hpp"
#include "benchmarks/collectives/contents.hpp"
#include "benchmarks/collectives/options.hpp"

namespace commlens::collectives {

namespace {

constexpr Metric batch_s{"batch_s", unit::s, Better::lower,
                         "time of harness.repeat calls: what the DFT-FE mini-app prints"};
constexpr Metric algorithm_bandwidth_GBps{
    "algorithm_bandwidth_GBps", unit::GBps, Better::higher,
    "bytes of the array over the time, of all blocks where there is one for each rank"};
constexpr Metric bus_bandwidth_GBps{
    "bus_bandwidth_GBps", unit::GBps, Better::higher,
    "the algorithm bandwidth times what each of n ranks must send or receive of the array, as nccl-tests defines it"};
constexpr Fact user_defined_reduction{"user_defined_reduction", unit::none,
                                      "1: MPI reduces by a function of the application, having none for the type"};

/// The arrays, with the operation on them.
struct Arrays {
  Arrays(Run& run, const CollectiveOptions& options) {
    collective.operation = options.operation->operation;
    collective.shape = options.shape(run.rank(), run.ranks());
    collective.type = options.type;
    collective.reduction = options.reduction.value_or(Reduction::sum);
    collective.in_place = options.in_place;
    const auto bytes = [&](std::size_t elements) { return elements * size_of(options.type); };
    const auto& operation = *options.operation;
    if (options.in_place) {
      const transport::InPlaceOffsets begin = run.transport().in_place(collective);
      first = run.buffer(bytes(options.elements_in_place(collective.shape)));
      collective.input = first.as<std::byte>() + bytes(begin.input);
      collective.output = first.as<std::byte>() + bytes(begin.output);
    } else {
      first = run.buffer(bytes(operation.input(collective.shape)));
      second = run.buffer(bytes(operation.output(collective.shape)));
      collective.input = first.data();
      collective.output = second.data();
    }
  }

  device::Buffer first;
  device::Buffer second;
  Collective collective;
};

/// One rank comes late; none of its node may leave before it. Ranks of other nodes have other clocks.
Verdict expect_all_wait(Run& run, std::size_t round) {
  const int late = static_cast<int>(round) % run.ranks();
  if (run.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const double came = SteadyClock::seconds();
  run.transport().barrier(run.stream());
  run.stream().wait();
  const double left = SteadyClock::seconds();
  const auto node = run.communicator().node();
  // Of the ranks of the node: when the late one came, if it is here.
  const double late_came = node.maximum(run.rank() == late ? came : 0);
  if (left >= late_came) return {.elements = 1};
  return {.elements = 1, .error = fmt::format("it left {:.1f} us before rank {} came", 1e6 * (late_came - left), late)};
}

/// To whom a rank copies, of those with whom it communicates.
int copy_peer(const transport::OperationDescription& operation, const Shape& shape) {
  if (operation.rooted) return shape.root;
  int peer = (shape.rank + 1) % shape.ranks;
  if (!operation.of_neighbors) return peer;
  for (const int neighbor : shape.grid.neighbors(shape.rank)) {
    if (neighbor != transport::Grid::no_rank && neighbor != shape.rank) peer = neighbor;
  }
  return peer;
}

/// What the hardware needs: copies from each rank to the next one or to a neighbor, or between each rank and the root.
std::vector<CeilingRequest> ceilings(const Collective& collective) {
  const auto& operation = collective.description();
  const Shape& shape = collective.shape;
  const std::size_t total = operation.total(shape) * size_of(collective.type);
  if (total == 0) return {};
  const double part = operation.bus_factor.of(shape.ranks);
  const int peer = copy_peer(operation, shape);
  if (!operation.rooted) return {CopyCeiling{.bytes = total, .copies = part, .peer = peer}};
  const bool of_blocks = part < 1;
  return {CopyCeiling{.bytes = of_blocks ? total / static_cast<std::size_t>(shape.ranks) : total,
                      .peer = peer,
                      .takes_part = !shape.is_root()}};
}

/// On all ranks alike, before anything is sent.
void require_supported(Run& run, const Collective& collective, CallMode mode) {
  const auto& operation = collective.description();
  if (run.ranks() == 1) throw Unsupported("one rank has nobody to communicate with: start at least 2");
  if (operation.total(collective.shape) == 0 && collective.operation != Operation::barrier) {
    throw Unsupported("no rank has an element: ask for more --bytes");
  }
  const std::string reason = run.transport().unsupported(collective, mode);
  if (!reason.empty()) throw Unsupported(reason);
}

void collective(Run& run, const CollectiveOptions& options) {
  const Arrays arrays(run, options);
  const Collective& collective = arrays.collective;
  const CallMode mode = options.call.value_or(CallMode::blocking);
  require_supported(run, collective, mode);
  const auto operation = run.transport().collective(collective, mode);
  if (options.operation->reduces && run.transport().reduces_by_function(collective)) {
    run.fact(user_defined_reduction, 1);
  }
  const auto repetition = run.repetition({.repeat = 50, .warmup = 5, .batches = 10});
  const auto& description = *options.operation;
  auto& stream = run.stream();
  Measurement measurement{
      .operation = std::string(name(description.operation)),
      .reset = [&](std::size_t round) { write(stream, collective, round); },
      .operate = [&] { operation->run(stream); },
      .verify = [&](std::size_t round,
                    std::size_t operations) { return expect(stream, collective, round, operations); },
      .operations_per_reset = exact_operations(collective),
      .repetition = repetition,
      .metrics = {time_us(), batch_s(static_cast<double>(repetition.repeat))},
      .ceilings = ceilings(collective)};
  if (options.has_data()) {
    const auto bytes = static_cast<double>(description.total(collective.shape) * size_of(options.type));
    measurement.metrics.push_back(algorithm_bandwidth_GBps(bytes));
    measurement.metrics.push_back(bus_bandwidth_GBps(bytes * description.bus_factor.of(run.ranks())));
  } else {
    measurement.verify = [&](std::size_t round) { return expect_all_wait(run, round); };
  }
  std::optional<Computation> computation;
  if (options.compute) {
    write(stream, collective, 0);
    const auto communicate = [&] { operation->run(stream); };
    computation.emplace(run, *options.compute, communicate);
    measurement.operate = [&] {
      operation->start(stream);
      computation->start();
      operation->finish(stream);
      computation->finish();
    };
    measurement.parts = {{.name = "communication", .stream = "communication", .operate = communicate},
                         {.name = "computation", .stream = "computation", .operate = [&] {
                            computation->start();
                            computation->finish();
                          }}};
  }
  run.measure(measurement);
}

BenchmarkDescription benchmark_of(const OperationDescription& operation) {
  BenchmarkDescription description{
      .name = std::string(name(operation.operation)),
      .help = fmt::format("{} ({})", operation.help, operation.call),
      .maker = [&operation](const BenchmarkDescription& described) -> std::unique_ptr<Benchmark> {
        return std::make_unique<BenchmarkOf<CollectiveOptions>>(described, collective, CollectiveOptions(operation));
      },
      .metrics = {time_us, batch_s},
      .classic = {{.format = "osu",
                   .title = operation.osu,
                   .columns = {{"Avg Latency(us)", "time_us"}},
                   .of_array = operation.operation == Operation::reduce_scatter ||
                               operation.operation == Operation::reduce_scatterv,
                   .has_size = operation.operation != Operation::barrier}}};
  if (operation.operation != Operation::barrier) {
    description.metrics.insert(description.metrics.end(), {algorithm_bandwidth_GBps, bus_bandwidth_GBps});
  }
  description.metrics.insert(description.metrics.end(), {measure::hidden_communication, measure::overlap_efficiency});
  if (!operation.nccl.empty()) description.classic.push_back({.format = "nccl", .title = operation.nccl});
  if (operation.reduces) description.facts = {user_defined_reduction};
  if (operation.operation == Operation::allreduce) {
    description.help += ": DFT-FE's device-direct Allreduce";
    description.classic.push_back({.format = "dftfe", .title = "MPI_Allreduce", .columns = {{"", "batch_s"}}});
  }
  return description;
}

const bool registered = [] {
  for (const OperationDescription& operation : transport::operations()) {
    const BenchmarkRegistration registration(benchmark_of(operation));
  }
  return true;
}();

}  // namespace
}  // namespace commlens::collectives
