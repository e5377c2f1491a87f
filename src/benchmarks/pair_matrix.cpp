#include "benchmarks/pair_matrix.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "measure/statistics.hpp"
#include "measure/stopwatch.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens {

namespace {

constexpr std::size_t batches = 5;
constexpr double batch_s = 0.002;  ///< about; at most the repetitions of a single pair, at least one operation

/// What a pair has shown to one of its ranks.
struct Shown {
  double seconds = 0;
  std::string error;
};

/// Both ranks do as many: the first one decides.
std::uint64_t agree_on(std::uint64_t count, Run& run, const Pair& pair) {
  namespace calls = transport::mpi_calls;
  if (pair.first()) {
    calls::send(run.communicator(), &count, sizeof count, pair.peer());
  } else {
    calls::receive(run.communicator(), &count, sizeof count, pair.peer());
  }
  return count;
}

Shown time_pair(Run& run, const Pair& pair, const Measurement& measurement, std::size_t round) {
  const auto time = [&](std::uint64_t operations) {
    const Stopwatch stopwatch;
    for (std::uint64_t i = 0; i < operations; ++i) measurement.operate();
    run.stream().wait();
    Run::heartbeat();
    return stopwatch.seconds() / static_cast<double>(operations);
  };
  measurement.reset(round);
  run.stream().wait();
  (void)time(1);  // connections are made
  const auto most = static_cast<double>(run.repetition(measurement.repetition).repeat);
  const auto count =
      agree_on(static_cast<std::uint64_t>(std::clamp(batch_s / time(1), 1.0, std::max(1.0, most))), run, pair);
  std::vector<double> seconds;
  for (std::size_t batch = 0; batch < batches; ++batch) seconds.push_back(time(count));
  const Verdict verdict = measurement.verify(round, 2 + batches * count);
  return {.seconds = measure::summarize(seconds).median, .error = verdict.error};
}

std::string text_of(const RankPair& pair, bool directed, const std::vector<std::string>& hosts) {
  const auto rank = [&](int number) {
    return std::to_string(number) + " (" + hosts.at(static_cast<std::size_t>(number)) + ")";
  };
  return rank(pair.first) + (directed ? " to " : " and ") + rank(pair.second);
}

}  // namespace

void survey_pairs(Run& run, Pair& pair, const PairOptions& options, const PairSurvey& survey,
                  Measurement& measurement) {
  const auto ranks = static_cast<std::size_t>(run.ranks());
  const auto meet = [&](int first, int second) {
    if (run.rank() == first) {
      pair.meet({.rank = second, .first = true});
    } else if (run.rank() == second) {
      pair.meet({.rank = first, .first = false});
    } else {
      pair.meet({});
    }
    if (survey.prepare) survey.prepare();
  };
  std::vector<double> seconds(ranks * ranks);
  std::string error;
  for (int first = 0; first < run.ranks(); ++first) {
    for (int second = survey.directed ? 0 : first + 1; second < run.ranks(); ++second) {
      if (first == second) continue;
      transport::mpi_calls::patient_barrier(run.communicator());
      meet(first, second);
      if (pair.waits()) continue;
      const std::size_t place = static_cast<std::size_t>(first) * ranks + static_cast<std::size_t>(second);
      const Shown shown = time_pair(run, pair, measurement, place);
      seconds[place] = shown.seconds;
      if (error.empty() && !shown.error.empty()) {
        error = "pair " + text_of({first, second}, survey.directed, options.host_of) + ": " + shown.error;
      }
    }
  }
  transport::mpi_calls::patient_barrier(run.communicator());
  run.communicator().maximum(seconds);  // of both ranks the slower one
  const measure::CaseMetric& metric = measurement.metrics.front();
  std::vector<double> values(ranks * ranks, std::numeric_limits<double>::quiet_NaN());
  std::vector<double> known;
  std::size_t slowest = 0;
  for (std::size_t place = 0; place < values.size(); ++place) {
    if (seconds[place] <= 0) continue;
    const std::size_t mirrored = place % ranks * ranks + place / ranks;
    values[place] = metric.at(seconds[place]);
    if (!survey.directed) values[mirrored] = values[place];
    known.push_back(values[place]);
    if (seconds[place] > seconds[slowest]) slowest = place;
  }
  run.series("pairs_" + std::string(metric.metric.name), values);
  if (!known.empty()) run.fact(survey.median, measure::summarize(known).median);
  const RankPair slow{static_cast<int>(slowest / ranks), static_cast<int>(slowest % ranks)};
  run.fact(slowest_pair, text_of(slow, survey.directed, options.host_of));
  meet(slow.first, slow.second);
  measurement.verify = [verify = measurement.verify, error](std::size_t round, std::size_t operations) {
    return error.empty() ? verify(round, operations) : Verdict{.elements = 1, .error = error};
  };
}

}  // namespace commlens
