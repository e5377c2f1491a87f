// The options of fft.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "device/data_type.hpp"
#include "fft/layout.hpp"
#include "fft/transposition.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"

namespace commlens {

/// When sub-communicators are made: anew at every transpose, or once.
enum class Communicators { per_transpose, cached };
ENUM_NAMES(Communicators, {per_transpose, "per-transpose"}, {cached, "cached"});

struct FftOptions {
  fft::Extents grid{125, 125, 125};  // CP2K's bench_64: 64 waters, 280 Ry
  std::string grid_of_ranks;         ///< empty: chosen by resolve()
  Choices<Communicators> communicators;
  fft::Exchange exchange = fft::Exchange::alltoallv;
  DataType type = DataType::c128;
  fft::Span grid_span = fft::Span::full;
  std::string timeline;
  fft::Distribution distribution;  ///< made of the above by resolve()

  void describe(OptionSet& options);
  void resolve(int ranks);
  [[nodiscard]] std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks) const;
  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const { return estimate(distribution); }

  /// Whether there is a sub-communicator: rays travel between all ranks, and slabs have no other transpose.
  [[nodiscard]] bool splits() const { return distribution.span == fft::Span::full || !distribution.slabs(); }
  [[nodiscard]] bool cached() const { return communicators == Communicators::cached; }
  [[nodiscard]] double points() const;

 private:
  [[nodiscard]] MemoryEstimate estimate(const fft::Distribution& of) const;
  /// The grid on the grid of ranks that was asked for, otherwise on the one that suits it.
  [[nodiscard]] fft::Distribution distribute(const fft::Extents& points, int ranks) const;
  [[noreturn]] void refuse(const MemoryBudget& budget, int ranks) const;
};

}  // namespace commlens
