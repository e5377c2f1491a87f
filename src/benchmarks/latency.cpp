// Half the round trip of a blocking ping-pong: the definition of osu_latency in the OSU micro-benchmarks 7.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/forked_children.hpp"
#include "benchmarks/pair_matrix.hpp"
#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

constexpr Metric latency_us{"latency_us", unit::us, Better::lower, "half the round trip"};
constexpr Fact median_pair_latency_us{"median_pair_latency_us", unit::us,
                                      "with --matrix: the median of the latencies of all pairs"};

struct PingPongOptions : PairOptions {
  std::size_t forks = 0;

  void describe(OptionSet& options) {
    PairOptions::describe(options);
    describe_call(options, CallMode::blocking);
    layout.describe(options);
    options.add_count_or_none("partitions", partitions,
                              "partitions of each message: MPI_Psend_init, and MPI_Pready for one after the other");
    options.add_count_or_none("forks", forks,
                              "children that each rank forks after MPI's initialization, and that sleep");
  }

  void resolve(int ranks, const std::vector<std::string>& hosts) {
    constexpr std::size_t most = 1024;
    if (forks > most) throw UsageError("forks", std::to_string(forks), "write at most " + std::to_string(most));
    if (partitions > 0) require_whole_partitions();
    PairOptions::resolve(ranks, hosts);
  }

  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const { return estimate(1); }

 private:
  void require_whole_partitions() const {
    constexpr std::size_t most = 1'000'000;
    const auto refuse = [this](const std::string& fix) {
      throw UsageError("partitions", std::to_string(partitions), fix);
    };
    if (partitions > most) refuse("write at most " + std::to_string(most));
    if (call && *call != CallMode::persistent) refuse("partitioned messages are persistent: leave --call out");
    if (matrix) refuse("for one pair of ranks only: leave --matrix out");
    if (layout.has_gaps()) refuse("for contiguous messages only: leave --layout out");
    for (const std::size_t size : bytes.values) {
      if (size <= partitions || size % partitions == 0) continue;
      refuse("--bytes " + std::to_string(size) + " is not a multiple of it; write --bytes " +
             std::to_string(size / partitions * partitions));
    }
  }
};

using LatencyOptions = WithMatrix<PingPongOptions>;

/// A message there and one back: what latency repeats.
class PingPong {
 public:
  PingPong(Run& run, Pair& pair) : run_(run), pair_(pair) { prepare(); }

  /// Again where the rank has met another one.
  void prepare() {
    sending_.reset();
    receiving_.reset();
    if (pair_.waits() || !pair_.has_form()) return;
    sending_ = pair_.exchange(1, 0);
    receiving_ = pair_.exchange(0, 1);
  }

  void operate() {
    if (pair_.waits()) return;
    if (pair_.first()) send();
    receive();
    if (!pair_.first()) send();
  }

 private:
  void send() { sending_ ? sending_->run(run_.stream()) : pair_.send(); }
  void receive() { receiving_ ? receiving_->run(run_.stream()) : pair_.receive(); }

  Run& run_;
  Pair& pair_;
  std::unique_ptr<transport::Exchange> sending_;
  std::unique_ptr<transport::Exchange> receiving_;
};

void latency(Run& run, const LatencyOptions& options) {
  const ForkedChildren children(options.forks);
  Pair pair(run, options);
  PingPong ping_pong(run, pair);
  Measurement measurement{.operation = "round trip",
                          .reset = [&](std::size_t round) { pair.reset(round); },
                          .operate = [&] { ping_pong.operate(); },
                          .verify = [&](std::size_t round) { return pair.verify(round); },
                          .repetition = ping_pong_repetition(pair.bytes()),
                          .metrics = {latency_us(0.5)}};
  if (options.matrix) {
    const PairSurvey survey{.median = median_pair_latency_us, .prepare = [&] { ping_pong.prepare(); }};
    survey_pairs(run, pair, options, survey, measurement);
  }
  measurement.ceilings = {pair.ceiling(2)};
  run.measure(measurement);
}

BENCHMARK("latency", "half the round trip of a ping-pong between two ranks (osu_latency)", latency, LatencyOptions,
          .metrics = {latency_us}, .facts = {slowest_pair, median_pair_latency_us},
          .classic = {osu_pairs("Latency Test", {{"Avg Latency(us)", "latency_us"}})});

}  // namespace
}  // namespace commlens
