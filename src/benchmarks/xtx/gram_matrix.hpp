// A matrix X whose Gram matrix S = X^H X is known without multiplying it: the test data of xtx.
//
// The rows of X are of a few kinds, in an order that looks random, so S[j][i] is a sum over the kinds: how many rows
// of each there are, times the product of two numbers. That is another order of summation than any matrix product's,
// and it is the same however the rows are spread over the ranks.
//
// The numbers are either integers, so small that every sum is exact in the type, and any product of matrices must give
// S to the last bit; or they use every bit of the significand, as an application's do, and S is met to rounding. The
// second are for timing: a GPU at its power limit multiplies small integers faster than real data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/enum_names.hpp"
#include "device/data_type.hpp"
#include "device/device.hpp"
#include "harness/run.hpp"

namespace commlens::xtx {

/// This rank's share of `total` rows: as even as can be, the first ranks have the larger ones.
struct Share {
  std::size_t begin = 0;
  std::size_t count = 0;

  static Share of(std::size_t total, int rank, int ranks);
};

enum class Numbers { full, integers };
ENUM_NAMES(Numbers, {full, "full"}, {integers, "integers"});

/// A rectangle of S, from element (first, first) of its diagonal on.
struct Panel {
  std::size_t first = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

class GramMatrix {
 public:
  static constexpr std::size_t kinds = 61;  ///< of rows; a prime, so that no even split of the rows repeats itself

  /// X has `rows` rows over all ranks and `columns` columns. Beside X it takes memory for `kinds` rows and counts.
  GramMatrix(Run& run, DataType type, std::size_t rows, std::size_t columns);

  /// The most rows that can be compared: for which integers of at least 1 give exact sums, and for which the roundings
  /// of full numbers stay below a quarter of the sum.
  [[nodiscard]] static std::size_t most_rows(DataType type, Numbers numbers);

  /// Queues this rank's rows of X, by rows: the column index is the fastest.
  void write(void* x, Numbers numbers, std::uint64_t seed);

  /// Compares a panel of S, stored by rows, with what write() made of it: every `step`-th row, and the diagonal. The
  /// run's stream must reach the memory. Waits for the stream.
  Verdict compare(const void* elements, const Panel& panel, std::size_t step);

 private:
  template <class Real>
  void write_as(Real* x);
  template <class Real>
  Verdict compare_as(const Real* elements, const Panel& panel, std::size_t step);
  /// What is wrong with an element of a panel.
  template <class Real>
  [[nodiscard]] std::string error_at(const Real* elements, const Panel& panel, std::size_t row, std::size_t column);

  Run& run_;
  DataType type_;
  std::size_t rows_;
  std::size_t columns_;
  device::Buffer table_;   ///< a row of each kind
  device::Buffer counts_;  ///< rows of each kind, over all ranks
  Numbers numbers_ = Numbers::integers;
  std::uint64_t seed_ = 0;
};

}  // namespace commlens::xtx
