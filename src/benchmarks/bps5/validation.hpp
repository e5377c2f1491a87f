// Checks a solve: its residual, and the operator inside some elements.
#pragma once

#include <optional>
#include <string>

#include "benchmarks/bps5/problem.hpp"
#include "harness/run.hpp"

namespace commlens::bps5 {

class Validation {
 public:
  /// Both must outlive it.
  Validation(Run& run, Problem& problem) : run_(run), problem_(problem) {}

  /// Of the last solve; `thoroughly` compares elements too, and looks at the error of the solution. Collective.
  Verdict verify(bool thoroughly);
  /// |b - A x| / |b| of the last solve, computed from its solution.
  [[nodiscard]] double residual() const { return residual_; }
  /// The largest difference from the manufactured solution on any rank; nothing: not looked at.
  [[nodiscard]] std::optional<double> largest_error() const { return largest_error_; }

 private:
  [[nodiscard]] std::string wrong_residual();

  Run& run_;
  Problem& problem_;
  double residual_ = 0;
  std::optional<double> largest_error_;
};

}  // namespace commlens::bps5
