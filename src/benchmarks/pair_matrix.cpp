#include "benchmarks/pair_matrix.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.hpp"
#include "measure/statistics.hpp"
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
    measurement.operate(operations);
    run.stream().wait();
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

/// The pairs of a run, and how ranks take their places in them.
class Surveyor {
 public:
  Surveyor(Run& run, Pair& pair, const PairOptions& options, const PairSurvey& survey)
      : run_(run), pair_(pair), options_(options), survey_(survey), ranks_(static_cast<std::size_t>(run.ranks())) {}

  void meet(const RankPair& pair) {
    if (run_.rank() == pair.first) {
      pair_.meet({.rank = pair.second, .first = true});
    } else if (run_.rank() == pair.second) {
      pair_.meet({.rank = pair.first, .first = false});
    } else {
      pair_.meet({});
    }
    if (survey_.prepare) survey_.prepare();
  }

  /// By the places of all pairs.
  std::vector<double> seconds(const Measurement& measurement) {
    std::vector<double> seconds(ranks_ * ranks_);
    for (const RankPair& pair : pairs()) {
      transport::mpi_calls::patient_barrier(run_.communicator());
      meet(pair);
      if (pair_.waits()) continue;
      const Shown shown = time_pair(run_, pair_, measurement, place(pair));
      seconds[place(pair)] = shown.seconds;
      if (error_.empty() && !shown.error.empty()) error_ = "pair " + text(pair) + ": " + shown.error;
    }
    transport::mpi_calls::patient_barrier(run_.communicator());
    run_.communicator().maximum(seconds);  // of both ranks the slower one
    return seconds;
  }
  /// The first wrong result that this rank has seen; empty: none.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] std::vector<RankPair> pairs() const {
    std::vector<RankPair> pairs;
    for (int first = 0; first < run_.ranks(); ++first) {
      for (int second = survey_.directed ? 0 : first + 1; second < run_.ranks(); ++second) {
        if (first != second) pairs.push_back({first, second});
      }
    }
    return pairs;
  }
  /// In a matrix, row by row.
  [[nodiscard]] std::size_t place(const RankPair& pair) const {
    return static_cast<std::size_t>(pair.first) * ranks_ + static_cast<std::size_t>(pair.second);
  }
  [[nodiscard]] std::string text(const RankPair& pair) const {
    return text_of(pair, survey_.directed, options_.host_of);
  }

 private:
  Run& run_;
  Pair& pair_;
  const PairOptions& options_;
  const PairSurvey& survey_;
  std::size_t ranks_;
  std::string error_;
};

}  // namespace

void survey_pairs(Run& run, Pair& pair, const PairOptions& options, const PairSurvey& wanted,
                  Measurement& measurement) {
  Surveyor surveyor(run, pair, options, wanted);
  const auto seconds = surveyor.seconds(measurement);
  const measure::CaseMetric& metric = measurement.metrics.front();
  std::vector<double> matrix(seconds.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> values;
  RankPair slowest = surveyor.pairs().front();
  for (const RankPair& ranks : surveyor.pairs()) {
    const double pair_s = seconds[surveyor.place(ranks)];
    values.push_back(metric.at(pair_s));
    matrix[surveyor.place(ranks)] = values.back();
    if (!wanted.directed) matrix[surveyor.place({ranks.second, ranks.first})] = values.back();
    if (pair_s > seconds[surveyor.place(slowest)]) slowest = ranks;
  }
  run.series("pairs_" + std::string(metric.metric.name), std::move(matrix));
  run.fact(wanted.median, measure::summarize(values).median);
  run.fact(slowest_pair, surveyor.text(slowest));
  surveyor.meet(slowest);
  measurement.verify = [verify = measurement.verify, error = surveyor.error()](std::size_t round,
                                                                               std::size_t operations) {
    return error.empty() ? verify(round, operations) : Verdict{.elements = 1, .error = error};
  };
}

}  // namespace commlens
