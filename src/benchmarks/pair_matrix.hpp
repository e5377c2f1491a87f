// All pairs of ranks, one after the other, while the other ranks wait: which pair is slow?
#pragma once

#include <functional>
#include <optional>

#include "benchmarks/point_to_point.hpp"

namespace commlens {

inline constexpr measure::Fact slowest_pair{
    "slowest_pair", measure::unit::none,
    "with --matrix: the ranks and hosts of the slowest pair, which is then measured like a single pair"};

/// The same options, and --matrix.
template <class Options>
struct WithMatrix : Options {
  void describe(OptionSet& options) {
    Options::describe(options);
    options
        .add_flag("matrix", "no-matrix", this->matrix,
                  "all pairs of ranks, one after the other; metrics of the slowest")
        .recorded_as([this] { return this->matrix ? std::optional<measure::Value>(true) : std::nullopt; });
  }
};

struct PairSurvey {
  bool directed = false;                    ///< from a to b is not the same as from b to a
  measure::Fact median;                     ///< of all pairs, of the main metric
  std::function<void()> prepare = nullptr;  ///< due after Pair::meet()
};

/// Collective: measures each pair with the operation of `measurement`, validated. The record gets the series
/// `pairs_METRIC`, which has a value for each pair of ranks, row by row: the row is the rank that sends or starts. Then
/// the slowest pair is met, so that Run::measure() measures it; a wrong result of any pair makes the record fail.
void survey_pairs(Run& run, Pair& pair, const PairOptions& options, const PairSurvey& wanted, Measurement& measurement);

}  // namespace commlens
