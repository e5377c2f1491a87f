// Executes the MPI calls of a program from its trace (docs/trace.md), on as many ranks and without the program.
//
// No ceiling is measured: the bound of a replay is its critical path, not the bandwidth of a link.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "benchmarks/replay/executor.hpp"
#include "benchmarks/replay/options.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/waiting.hpp"
#include "harness/benchmark.hpp"

namespace commlens::replay {
namespace {

using measure::time_s;

constexpr Fact communication_s{"communication_s", unit::s,
                               "mean over the ranks of the time in the calls of the trace, in one replay, with the "
                               "copies of staging"};
constexpr Fact communication_share{"communication_share", unit::none, "communication_s over the time of a replay"};
constexpr Fact recorded_s{"recorded_s", unit::s,
                          "time of the recorded program from the end of MPI_Init to MPI_Finalize, of its slowest rank"};
constexpr Fact recorded_communication_s{"recorded_communication_s", unit::s,
                                        "mean over the ranks of the program's time in the calls of the trace"};
constexpr Fact not_replayed_share{"not_replayed_share", unit::none,
                                  "share of recorded_communication_s in calls that are not replayed"};
constexpr Fact replayed_calls{"calls", unit::none, "MPI calls of a replay, of all ranks"};
constexpr Fact sent_bytes{"sent_bytes", unit::bytes,
                          "bytes that the calls of all ranks send, as `commlens profile` counts them"};
constexpr Fact unchecked_calls{
    "unchecked_calls", unit::none,
    "calls of all ranks whose results validation does not know: beside wildcards that the trace has left, in programs "
    "that cancel requests or that write again before a freed send is complete, of neighbors and of intercommunicators, "
    "reductions of pairs, of complex numbers and by operations of the program's own"};

constexpr Fact bytes_scale{
    "bytes_scale", unit::none,
    "times the program's elements in each message and collective (--scale-bytes): recorded_s and "
    "recorded_communication_s are those of the program's own bytes"};
constexpr Fact transport_calls_share{"transport_calls_share", unit::none,
                                     "share of the calls of collectives that the transport executes; the others are "
                                     "MPI's, as is all that is no collective"};
constexpr Fact transport_bytes_share{"transport_bytes_share", unit::none,
                                     "the same of the bytes that collectives send, as `commlens profile` counts them"};

/// Of the replays that are samples, on this rank. Those that the harness adds to find out the algorithm of a collective
/// repeat an earlier round, and are left out.
class Samples {
 public:
  void begin(std::size_t round) {
    is_new_ = round > round_;
    round_ = std::max(round, round_);
  }
  void add(const Totals& totals) {
    if (!is_new_) return;
    call_s_.push_back(totals.call_s);
    last_ = totals;
  }
  [[nodiscard]] const Totals& last() const { return last_; }
  /// Of the last `count`: those before were to warm up.
  [[nodiscard]] double mean_call_s(std::size_t count) const {
    const std::size_t first = call_s_.size() - std::min(count, call_s_.size());
    double sum = 0;
    for (std::size_t i = first; i < call_s_.size(); ++i) sum += call_s_[i];
    return sum / static_cast<double>(std::max<std::size_t>(call_s_.size() - first, 1));
  }

 private:
  std::size_t round_ = 0;
  bool is_new_ = false;
  std::vector<double> call_s_;
  Totals last_;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

void add_facts(Run& run, const Options& options, const Executor& executor, const Samples& samples) {
  const auto& communicator = run.communicator();
  const double seconds = mean(run.samples());
  const double in_calls = communicator.sum_of_reals(samples.mean_call_s(run.samples().size())) / run.ranks();
  run.fact(communication_s, in_calls);
  if (seconds > 0) run.fact(communication_share, in_calls / seconds);
  run.fact(recorded_s, options.trace().seconds);
  run.fact(recorded_communication_s, mean(options.recorded().call_s_of_rank));
  run.fact(not_replayed_share, options.not_replayed());
  run.fact(replayed_calls, communicator.sum_of_reals(samples.last().calls));
  run.fact(sent_bytes, communicator.sum_of_reals(samples.last().bytes));
  run.fact(unchecked_calls, communicator.sum_of_reals(static_cast<double>(executor.unchecked())));
}

void add_shares(Run& run, const TransportCollectives& collectives, bool is_staged) {
  run.fact(transport_calls_share, collectives.share_of_calls());
  run.fact(transport_bytes_share, collectives.share_of_bytes());
  if (is_staged)
    run.report("what stays with MPI is copied to the host and back: MPI does not say that it takes GPU memory");
}

/// The seconds of the last replay in each function, by rank.
void add_series(Run& run, const Totals& last) {
  std::vector<double> most = last.seconds_of;
  run.communicator().maximum(most);
  for (std::size_t i = 0; i < most.size(); ++i) {
    if (most[i] == 0) continue;
    std::vector<double> of_rank(static_cast<std::size_t>(run.ranks()));
    of_rank[static_cast<std::size_t>(run.rank())] = last.seconds_of[i];
    run.communicator().maximum(of_rank);
    run.series(std::string(functions()[i].name) + "_s", std::move(of_rank));
  }
}

void replay(Run& run, const Options& options) {
  Program program(options.trace(), static_cast<std::size_t>(run.rank()));
  Executor executor(run, options.trace(), program, options.gaps);
  executor.assign();
  Samples samples;
  bool is_validated = false;
  run.measure({.operation = "replay",
               .reset =
                   [&](std::size_t round) {
                     samples.begin(round);
                     executor.prepare();
                   },
               .operate =
                   [&] {
                     executor.execute();
                     samples.add(executor.totals());
                   },
               .verify =
                   [&](std::size_t) {  // all replays are alike: one is enough
                     return std::exchange(is_validated, true) ? Verdict{} : executor.validate();
                   },
               .operations_per_reset = 1,
               .repetition = {.timing = measure::Timing::each, .repeat = 7, .warmup = 1, .batches = 1},
               .metrics = {time_s()}});
  add_facts(run, options, executor, samples);
  if (executor.collectives()) add_shares(run, *executor.collectives(), executor.is_staged());
  add_series(run, samples.last());
  if (run.in_parts()) add_waiting(run, executor, program);
  if (options.not_replayed() > 0) {
    run.report(fmt::format("{:.1f}% of the program's MPI time was in calls that are not replayed, most of it in {}",
                           100 * options.not_replayed(), options.recorded().not_replayed));
  }
  if (options.scale_bytes != 1) {
    run.fact(bytes_scale, options.scale_bytes);
    run.report(fmt::format("messages have {:g} times the program's elements: its own times are not to be compared",
                           options.scale_bytes));
  }
  const Trace& trace = options.trace();
  if (trace.ranks != trace.recorded_ranks) {
    run.report(fmt::format("the program had {}: its recorded times cannot be compared with these",
                           counted(trace.recorded_ranks, "rank")));
  }
  if (trace.cut) run.report("the trace was cut: it ends within a block");
}

BENCHMARK("replay", "the MPI calls of a program, from its trace, with the time between them", replay, Options,
          .metrics = {time_s},
          .facts = {communication_s, communication_share, waiting_s, late_sender_s, late_receiver_s, late_collective_s,
                    observed_s, critical_path_s, free_communication_saves, recorded_s, recorded_communication_s,
                    not_replayed_share, replayed_calls, sent_bytes, unchecked_calls, bytes_scale, transport_calls_share,
                    transport_bytes_share});

}  // namespace
}  // namespace commlens::replay
