// Checks a solve: its residual and its inner products, and the operator inside some elements.
#pragma once

#include <optional>
#include <string>

#include "benchmarks/bp5/problem.hpp"
#include "harness/run.hpp"

namespace commlens::bp5 {

class Validation {
 public:
  /// Both must outlive it.
  Validation(Run& run, Problem& problem) : run_(run), problem_(problem) {}

  /// Of the last solve; `thoroughly` compares elements too, and looks at the error of the solution. Collective.
  Verdict verify(bool thoroughly);
  /// The largest difference from the manufactured solution on any rank; nothing: not looked at.
  [[nodiscard]] std::optional<double> largest_error() const { return largest_error_; }

 private:
  [[nodiscard]] std::string wrong_sums();
  [[nodiscard]] double tolerance() const;

  Run& run_;
  Problem& problem_;
  std::optional<double> largest_error_;
};

}  // namespace commlens::bp5
