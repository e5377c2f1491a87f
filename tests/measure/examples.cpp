#include "measure/examples.hpp"

#include <limits>
#include <string_view>
#include <utility>

namespace commlens::measure::examples {
namespace {

Gpu gpu(int ordinal, const std::string& pci) {
  return {.ordinal = ordinal,
          .name = "NVIDIA H200",
          .uuid = "GPU-0000000" + std::to_string(ordinal),
          .pci = pci,
          .numa_node = 0,
          .memory_bytes = 150'000'000'000,
          .power_limit_W = ordinal == 0 ? 650.0 : 0.0,
          .default_power_limit_W = ordinal == 0 ? 700.0 : 0.0};
}

Record measured(const std::string& benchmark, const std::string& transport, const std::string& memory, double seconds) {
  Record record;
  record.time = "2025-11-21T20:00:00Z";
  record.benchmark = benchmark;
  record.repetition = {.timing = Timing::each, .repeat = 10, .warmup = 2, .batches = 1};
  record.ranks = 2;
  record.transport = transport;
  record.memory = memory;
  record.samples_s = samples_around(seconds);
  record.setup_s = 0.25;
  record.validation = {.status = ValidationStatus::passed, .checks = 2, .elements = 64, .message = ""};
  return record;
}

constexpr Metric latency_us{"latency_us", unit::us, Better::lower, "half the round trip"};
constexpr Metric bandwidth_GBps{"bandwidth_GBps", unit::GBps, Better::higher, "bytes of all messages over the time"};
constexpr Metric message_rate_per_s{"message_rate_per_s", unit::per_s, Better::higher, "messages over the time"};
constexpr Metric batch_s{"batch_s", unit::s, Better::lower, "time of harness.repeat calls"};
constexpr Metric algorithm_bandwidth_GBps{"algorithm_bandwidth_GBps", unit::GBps, Better::higher,
                                          "bytes over the time"};
constexpr Metric bus_bandwidth_GBps{"bus_bandwidth_GBps", unit::GBps, Better::higher, "times 2(n-1)/n for n ranks"};
constexpr Metric rank_TFLOPs{"rank_TFLOPs", unit::TFLOPs, Better::higher, "operations per rank over the time"};
constexpr Metric rank_GFLOPs{"rank_GFLOPs", unit::GFLOPs, Better::higher, "operations per rank over the time"};

Parameter size(const std::string& name, std::int64_t bytes) { return {name, bytes, Role::size, "B"}; }
Parameter setting(const std::string& name, Value value) { return {name, std::move(value), Role::setting, ""}; }
Parameter derived(const std::string& name, Value value) { return {name, std::move(value), Role::derived, ""}; }

/// Of allreduce, in place of that of each example's benchmark.
BenchmarkDeclaration declaration() {
  return {.name = "allreduce",
          .description = "sum an array over all ranks",
          .parameters = {{"bytes", "bytes", Role::size, "B", "size of the array"},
                         {"count", "count", Role::derived, "", "elements"},
                         {"in_place", "in-place", Role::setting, "", "one buffer"}},
          .metrics = {time_us, batch_s, bus_bandwidth_GBps},
          .facts = {{"global_ids_shared", unit::none, "ids that several ranks have"}}};
}

Record latency_with_odd_numbers(double sample, double setup) {
  Record record = latency(8, "mpi", "host", 1e-6);
  record.samples_s[3] = sample;
  record.setup_s = setup;
  return record;
}

using Column = ClassicLayout::Column;
constexpr Column latency_column = {"Avg Latency(us)", "latency_us"};
constexpr Column bandwidth_column = {"Bandwidth (MB/s)", "bandwidth_GBps", 1e3};

std::vector<ClassicLayout> layouts(const std::string& benchmark) {
  const auto osu = [](std::string_view title, std::vector<Column> columns, bool point_to_point, bool pairs = false) {
    return std::vector{ClassicLayout{"osu", title, std::move(columns), point_to_point, pairs}};
  };
  if (benchmark == "latency") return osu("Latency Test", {latency_column}, true);
  if (benchmark == "bandwidth") return osu("Bandwidth Test", {bandwidth_column}, true);
  if (benchmark == "bidirectional-bandwidth") return osu("Bi-Directional Bandwidth Test", {bandwidth_column}, true);
  if (benchmark == "message-rate") {
    return osu("Multiple Bandwidth / Message Rate Test",
               {{"MB/s", "bandwidth_GBps", 1e3}, {"Messages/s", "message_rate_per_s"}}, true, true);
  }
  if (benchmark != "allreduce") return {};
  auto both = osu("Allreduce Latency Test", {{"Avg Latency(us)", "time_us"}}, false);
  both.push_back({"dftfe", "MPI_Allreduce", {{"", "batch_s"}}});
  both.push_back({"nccl", "all_reduce_perf", {}});
  return both;
}

}  // namespace

Start with_layouts(Start start, const std::string& benchmark) {
  start.benchmark.classic = layouts(benchmark);
  return start;
}

Start start_with_gpus() {
  Start start = start_without_gpus();
  start.backend = "cuda";
  start.placement[0].gpu = gpu(0, "0000:19:00.0");
  start.placement[1].gpu = gpu(1, "0000:3b:00.0");
  start.placement[0].nics = {{.name = "mlx5_0",
                              .link_layer = "InfiniBand",
                              .rate_Gbps = 400,
                              .numa_node = 0,
                              .distance = NicDistance::pcie_switch}};
  start.placement[1].nics = {{.name = "eth0", .link_layer = "Ethernet"}};
  start.versions["ccl"] = "NCCL 2.28.3";
  return start;
}

Start start_without_gpus() {
  return {.id = "2025-11-21T20:00:00Z-node01-4242",
          .time = "2025-11-21T19:59:00Z",
          .benchmark = declaration(),
          .backend = "host",
          .ranks = 2,
          .nodes = 1,
          .transports = {"mpi", "staged", "ccl"},
          .placement = {{.rank = 0, .host = "node01", .cores = "0-15", .numa_nodes = "0", .gpu = {}},
                        {.rank = 1, .host = "node01", .cores = "16-31", .numa_nodes = "1", .gpu = {}}},
          .versions = {{"commlens", "0.1.0"}, {"mpi", "Open MPI 5.0.7"}, {"compiler", "GCC 12.2.0"}},
          .environment = {{"OMPI_MCA_cpu_type", "x86_64"}, {"UCX_TLS", "all"}},
          .settings = {"UCX_TLS"},
          .command = {"commlens-bench", "latency", "--bytes", "8:1M"}};
}

std::vector<double> samples_around(double median_s) {
  std::vector<double> samples;
  for (const double factor : {1.00, 0.98, 1.02, 0.99, 1.01, 1.00, 0.97, 1.03, 0.96, 1.04}) {
    samples.push_back(median_s * factor);
  }
  return samples;
}

Record latency(std::int64_t bytes, const std::string& transport, const std::string& memory, double seconds) {
  Record record = measured("latency", transport, memory, seconds);
  record.parameters = {size("bytes", bytes)};
  record.operation = "round trip";
  record.metrics = {latency_us(0.5)};
  return record;
}

Record bandwidth(const std::string& benchmark, std::int64_t bytes, const std::string& transport, double seconds) {
  Record record = measured(benchmark, transport, "device", seconds);
  record.parameters = {size("bytes", bytes), setting("window", std::int64_t{64})};
  record.operation = "window of 64 messages";
  const double directions = benchmark == "bandwidth" ? 1 : 2;
  record.metrics = {bandwidth_GBps(64 * directions * static_cast<double>(bytes))};
  return record;
}

Record message_rate(std::int64_t bytes, std::int64_t pairs, double seconds) {
  Record record = measured("message-rate", "mpi", "host", seconds);
  record.parameters = {size("bytes", bytes), setting("window", std::int64_t{64}), setting("pairs", pairs)};
  record.operation = "window of 64 messages";
  const double messages = 64.0 * static_cast<double>(pairs);
  record.metrics = {message_rate_per_s(messages), bandwidth_GBps(messages * static_cast<double>(bytes))};
  return record;
}

Record allreduce(std::int64_t bytes, const std::string& transport, const std::string& memory, double seconds) {
  Record record = measured("allreduce", transport, memory, seconds);
  record.parameters = {size("bytes", bytes), derived("count", bytes / 8), setting("dtype", "f64"),
                       setting("in_place", true)};
  record.repetition = {.timing = Timing::batch, .repeat = 50, .warmup = 5, .batches = 10};
  record.operation = "allreduce";
  const auto size_in_bytes = static_cast<double>(bytes);
  record.metrics = {time_us(), batch_s(50), algorithm_bandwidth_GBps(size_in_bytes), bus_bandwidth_GBps(size_in_bytes)};
  return record;
}

Record overlapped(const std::string& transport, double seconds) {
  Record record = measured("xtx", transport, "device", seconds);
  record.parameters = {
      setting("vectors", std::int64_t{14640}), {"block", std::int64_t{732}, Role::size, ""}, setting("overlap", true)};
  record.operation = "overlap matrix of 20 blocks";
  record.parts = {{"multiplications", "compute", samples_around(0.8 * seconds)},
                  {"reductions", "communication", samples_around(0.3 * seconds)},
                  {"copies", "communication", samples_around(0.1 * seconds)}};
  const double ideal = ideal_seconds(record.parts);
  record.metrics = {time_s(), rank_TFLOPs(45e12), overlap_efficiency(ideal)};
  record.timeline = {.seconds = seconds,
                     .spans = {{0, "compute", "multiplications", 0, 0, 0.5 * seconds},
                               {0, "communication", "reductions", 0, 0.5 * seconds, 0.7 * seconds},
                               {1, "compute", "multiplications", 0, 0, 0.6 * seconds}}};
  record.ceilings = {
      {.name = "square GEMM", .method = "m", .seconds = 0.75 * seconds, .rate = 60, .unit = unit::TFLOPs},
      {.name = "copy to host", .method = "m", .seconds = 0.09 * seconds, .rate = 55.2}};
  record.validation.exact = false;
  return record;
}

Record candidate(const std::string& transport, const std::string& configuration, double seconds) {
  Record record = measured("gather-scatter", transport, "device", seconds);
  record.parameters = {setting("order", std::int64_t{7})};
  record.operation = "gather-scatter";
  record.metrics = {time_us(), rank_GFLOPs(1e5)};
  record.facts = {
      {"global_ids_shared", std::int64_t{236041}}, {"balance", 1.0}, {"used", configuration}, {"exact", true}};
  record.series = {{"relative_residual", {1, 0.5, 0.25}}};
  record.report = {"mesh of 64000 elements", "", "gs_setup: 236041 unique labels shared", "   pairwise times: 1"};
  record.candidate = {.name = configuration, .seconds = 0.9 * seconds, .text = configuration + " (MPI min: 1)"};
  return record;
}

Record skipped(Record record, const std::string& reason) {
  record.status = Status::skipped;
  record.reason = reason;
  record.samples_s.clear();
  record.setup_s = 0;
  record.validation = {};
  return record;
}

Record wrong(Record record, const std::string& reason) {
  record.status = Status::failed;
  record.reason = reason;
  record.validation.status = ValidationStatus::failed;
  record.validation.message = reason;
  return record;
}

Ceiling ceiling(const std::string& name, double seconds) {
  return {.name = name, .method = "the best of ten " + name + " operations", .seconds = seconds, .rate = 395.5};
}

std::vector<Record> every_kind() {
  std::vector<Record> records;
  records.push_back(latency(8, "mpi", "host", 29e-6));
  records.push_back(latency(8, "mpi", "device:host", 29e-6));
  records.back().samples_s.resize(3);  // too few for an interval
  records.push_back(allreduce(80'000'000, "ccl", "device", 280e-6));
  records.back().ceilings = {ceiling("peer copy", 202e-6), ceiling("memory copy", 33e-6), ceiling("no copy", 0)};
  records.back().parameters.push_back(setting("tolerance", 1e-3));
  records.back().parameters.push_back(setting("limit", infinity));
  records.push_back(skipped(allreduce(80'000'000, "ccl", "host", 1), "ccl needs a GPU"));
  records.push_back(wrong(allreduce(8, "mpi", "managed", 1e-3), "rank 1, element 3: expected 7, found 6"));
  records.push_back(latency_with_odd_numbers(infinity, 0));
  records.push_back(latency_with_odd_numbers(-1e-6, 0));
  records.push_back(latency_with_odd_numbers(1e-6, std::numeric_limits<double>::quiet_NaN()));
  records.push_back(overlapped("ccl", 0.9));
  records.push_back(candidate("mpi", "pairwise+device", 1e-3));
  records.push_back(candidate("mpi", "pairwise+hybrid", 1e-3));
  records.back().facts.emplace_back("limit", infinity);
  records.back().series["relative_residual"].push_back(infinity);
  records.back().candidate->seconds = infinity;
  records.push_back(skipped(candidate("ccl", "ccl+device", 1), "ccl needs a GPU"));
  records.push_back(overlapped("mpi", 0.9));
  records.back().gpu_clock = GpuClock{.least_MHz = 1410, .highest_MHz = 1980, .limits = {"power", "temperature"}};
  records.back().page_faults = PageFaults{.per_operation = 24.5, .seconds = 2e-7};
  records.push_back(bandwidth("bandwidth", 8, "mpi", 0));  // a clock too coarse for what it timed
  return records;
}

}  // namespace commlens::measure::examples
