// nekRS's gather-scatter (its oogs, over Nek5000's gslib): the values of all nodes of spectral elements with one global
// id are combined, over elements and over ranks, by each method. On Crusher the messages of nekRS's Kershaw case had
// 10.9 GB/s per rank between GPUs, and 19.5 GB/s over the host.
//
// Values are integers, or powers of two, whose combination is known to the last bit: every copy of every id is
// compared.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/gather_scatter/global_ids.hpp"
#include "benchmarks/gather_scatter/operation.hpp"
#include "benchmarks/gather_scatter/options.hpp"
#include "benchmarks/gather_scatter/validation.hpp"
#include "gather_scatter/choice.hpp"
#include "harness/benchmark.hpp"

namespace commlens {
namespace {

using gather_scatter::GatherScatter;
using gather_scatter::Method;
using gather_scatter::ValueKind;

constexpr Metric time_us{"time_us", unit::us, Better::lower,
                         "time of one gather-scatter, with --overlap together with the operator"};
constexpr Metric bandwidth_GBps{"bandwidth_GBps", unit::GBps, Better::higher,
                                "bytes of shared values that leave and reach a rank, mean over the ranks, over the "
                                "time; the same bytes for every mode, whatever it sends"};

constexpr Fact shared_ids{"shared_ids", unit::none, "global ids on more than one rank"};
constexpr Fact messages{"messages", unit::none,
                        "messages of a rank, one per neighbor, as --mode pairwise sends them; most of any rank"};
constexpr Fact message_size_max{"message_size_max", unit::none, "values in the largest of these messages"};
constexpr Fact message_size_min{"message_size_min", unit::none, "values in the smallest of these messages"};
constexpr Fact message_size_avg{"message_size_avg", unit::none, "values in these messages, mean over all messages"};
constexpr Fact message_size_sum{"message_size_sum", unit::none,
                                "values in all of these messages of a rank; most of any rank"};
constexpr Fact buffer_bytes{"buffer_bytes", unit::bytes,
                            "message buffers of the mode, both directions; most of any rank"};
constexpr Fact list_bytes{"list_bytes", unit::bytes, "lists of nodes of the mode; most of any rank"};
constexpr Fact exchange_min_us{"exchange_min_us", unit::us, "messages alone, as nekRS times them: fastest rank"};
constexpr Fact exchange_max_us{"exchange_max_us", unit::us, "messages alone, as nekRS times them: slowest rank"};
constexpr Fact exchange_avg_us{"exchange_avg_us", unit::us, "messages alone, as nekRS times them: mean over the ranks"};
constexpr Fact bidirectional_GBps{
    "bidirectional_GBps", unit::GBps,
    "per rank: bytes sent and received over the time of the messages alone, each summed over the ranks"};
constexpr Fact selection_us{"selection_us", unit::us,
                            "time by which nekRS selects: a gather-scatter, least of 10 per rank, slowest rank"};

/// What all modes and transports of a start share.
struct SetUp {
  std::vector<IdCopy> copies;
  gather_scatter::Sharing sharing;
  std::optional<sem::MeshProperties> mesh;
  gather_scatter::Choice on_host;
  double seconds = 0;
  std::vector<std::string> report;
};

std::unique_ptr<SetUp> make_set_up(Run& run, const GatherScatterOptions& options) {
  auto set_up = std::make_unique<SetUp>();
  GlobalIds nodes;
  if (options.on_mesh()) {
    const sem::Mesh mesh = options.mesh.mesh(run.rank(), run.ranks());
    set_up->mesh = sem::properties_of(mesh, run.communicator());
    nodes = ids_of(mesh);
  } else {
    nodes = random_ids(options.nodes, options.multiplicity, run.rank(), run.ranks());
  }
  heartbeat();
  const Stopwatch stopwatch;
  set_up->sharing = gather_scatter::discover(nodes.ids, run.communicator());
  heartbeat();
  set_up->on_host = gather_scatter::choose_on_host(set_up->sharing, run.context());
  set_up->seconds = stopwatch.seconds();
  set_up->copies = std::move(nodes.copies);
  return set_up;
}

/// What nekRS and gslib print about a mesh and a set-up; the buffers are gslib's, for one double per node.
std::vector<std::string> report_of(const SetUp& set_up, std::size_t list_bytes_here, Run& run) {
  std::vector<std::string> report;
  if (set_up.mesh) report = sem::lines(*set_up.mesh);
  const auto lines = gather_scatter::setup_lines(set_up.sharing, set_up.on_host, set_up.seconds, list_bytes_here,
                                                 2 * set_up.sharing.sent() * sizeof(double), run.communicator());
  report.insert(report.end(), lines.begin(), lines.end());
  return report;
}

void add_facts(Run& run, const gather_scatter::Sharing& sharing, const GatherScatter& handle,
               const gather_scatter::Timing& timing) {
  const auto whole = [](double number) { return static_cast<std::int64_t>(number); };
  const auto most = [&](std::size_t bytes) { return whole(run.communicator().maximum(static_cast<double>(bytes))); };
  const auto counts = gather_scatter::message_counts(sharing, run.communicator());
  run.fact(shared_ids, static_cast<std::int64_t>(sharing.shared_ids));
  run.fact(messages, whole(counts.messages.maximum));
  run.fact(message_size_max, whole(counts.size.maximum));
  run.fact(message_size_min, whole(counts.size.minimum));
  run.fact(message_size_avg, counts.size.average);
  run.fact(message_size_sum, whole(counts.size_sum.maximum));
  run.fact(buffer_bytes, most(handle.buffer_bytes()));
  run.fact(list_bytes, most(handle.list_bytes()));
  run.fact(exchange_min_us, timing.exchange.minimum * 1e6);
  run.fact(exchange_max_us, timing.exchange.maximum * 1e6);
  run.fact(exchange_avg_us, timing.exchange.average * 1e6);
  run.fact(bidirectional_GBps, timing.bidirectional_GBps);
  run.fact(selection_us, timing.seconds.maximum * 1e6);
}

void add_candidate(Run& run, const gather_scatter::Timing& timing) {
  const std::string name = gather_scatter::configuration(timing.method, run.transport_name(), run.memory());
  run.candidate({.name = name, .seconds = timing.seconds.maximum, .text = gather_scatter::describe(timing, name)});
}

/// Of the values that this rank sends to others.
std::size_t sent_bytes(const gather_scatter::Sharing& sharing, const ValueKind& kind) {
  return sharing.sent() * kind.fields * size_of(kind.exchange_type);
}

/// As many bytes arrive as leave.
std::vector<measure::CaseMetric> metrics(Run& run, std::size_t bytes) {
  const double mean = run.communicator().sum_of_reals(static_cast<double>(bytes)) / run.ranks();
  if (mean == 0) return {time_us()};
  return {time_us(), bandwidth_GBps(2 * mean)};
}

/// What goes to other ranks, copied to one of them: as much as the rank with the most sends.
std::vector<CeilingRequest> ceilings(Run& run, const gather_scatter::Sharing& sharing, std::size_t bytes,
                                     Method method) {
  const auto most = static_cast<std::size_t>(run.communicator().maximum(static_cast<double>(bytes)));
  const bool neighbors = method == Method::pairwise || method == Method::neighbor;
  if (most == 0 || !neighbors) return {};
  const int peer = sharing.peers.empty() ? (run.rank() + 1) % run.ranks() : sharing.peers.front().rank;
  return {CopyCeiling{.bytes = most, .peer = peer}};
}

/// On a host it takes long to write, combine and compare so many nodes for each mode: one or two seconds have to do,
/// which is 20 samples for 20^3 elements of order 7 per rank. The same on all ranks.
measure::Repetition repetition(const Run& run, const GatherScatterOptions& options) {
  measure::Repetition repetition{.timing = measure::Timing::each, .repeat = 100, .warmup = 10, .batches = 10};
  if (device::on_gpu(run.memory())) return repetition;
  constexpr double values = 8.2e7;
  const double samples = values / (options.nodes_about(run.ranks()) * static_cast<double>(options.fields));
  repetition.repeat = static_cast<std::size_t>(std::clamp(samples, 10.0, 100.0));
  repetition.warmup = repetition.repeat / 10;
  return repetition;
}

void combine_nodes(Run& run, const GatherScatterOptions& options) {
  auto& set_up = run.retain<SetUp>([&] { return make_set_up(run, options); });
  const gather_scatter::Sharing& sharing = set_up.sharing;
  const Context context = run.context();
  const ValueKind kind = options.kind();
  const Method method = options.mode;
  const std::string reason = run.communicator().first(gather_scatter::unsupported(method, sharing, kind, context));
  if (!reason.empty()) throw Unsupported(reason);

  const auto handle = gather_scatter::make(method, gather_scatter::make_lists(sharing, context), kind, context);
  const auto data = run.buffer(sharing.nodes * kind.fields * size_of(kind.type));
  run.stream().fill(data.data(), 0, data.bytes());
  const auto timing = gather_scatter::time_of(*handle, method, data.data(), sharing, kind, context);
  add_facts(run, sharing, *handle, timing);
  add_candidate(run, timing);
  if (set_up.report.empty()) set_up.report = report_of(set_up, handle->list_bytes(), run);
  for (const std::string& line : set_up.report) run.report(line);

  ExactValues values(run, set_up.copies, kind);
  GatherScatterOperation operation(run, *handle, data.data());
  std::optional<InteriorOperator> interior;
  if (options.overlap) operation.overlap_with(interior.emplace(run, options.mesh.mesh(run.rank(), run.ranks())));
  const std::size_t sent = sent_bytes(sharing, kind);
  run.measure({.operation = "gather-scatter",
               .reset = [&](std::size_t round) { values.write(data.data(), round); },
               .operate = [&] { operation.operate(nullptr); },
               .verify = [&](std::size_t round,
                             std::size_t operations) { return values.compare(data.data(), round, operations); },
               .operations_per_reset = ExactValues::exact_operations(kind, options.most_copies()),
               .repetition = repetition(run, options),
               .metrics = metrics(run, sent),
               .parts = operation.parts(),
               .trace = [&](StepObserver& observer) { operation.operate(&observer); },
               .ceilings = ceilings(run, sharing, sent, method)});
}

BENCHMARK("gather-scatter", "combine the nodes that spectral elements share (nekRS's oogs, Nek5000's gslib)",
          combine_nodes, GatherScatterOptions,
          .metrics = {time_us, bandwidth_GBps, measure::hidden_communication, measure::overlap_efficiency},
          .facts = {shared_ids, messages, message_size_max, message_size_min, message_size_avg, message_size_sum,
                    buffer_bytes, list_bytes, exchange_min_us, exchange_max_us, exchange_avg_us, bidirectional_GBps,
                    selection_us},
          .divides_work = true);

}  // namespace
}  // namespace commlens
