// Values of nodes whose combination is known to the last bit: every copy of every global id is compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmarks/gather_scatter/global_ids.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/run.hpp"

namespace commlens {

class ExactValues {
 public:
  /// Uploads the copies, and does not need them afterwards.
  ExactValues(Run& run, const std::vector<IdCopy>& copies, const gather_scatter::ValueKind& kind);
  /// After so many operations in place a bit may be lost.
  [[nodiscard]] static std::size_t exact_operations(const gather_scatter::ValueKind& kind, std::size_t most_copies);

  /// Queues writing every node of every field, with numbers that differ from round to round.
  void write(void* data, std::uint64_t round);
  /// Compares with the result of `operations` gather-scatters. Waits for the stream.
  Verdict compare(const void* data, std::uint64_t round, std::size_t operations);

 private:
  template <class T>
  void write_as(T* data, std::uint64_t round);
  template <class T>
  Verdict compare_as(const T* data, std::uint64_t round, std::size_t operations);

  Run& run_;
  gather_scatter::ValueKind kind_;
  device::Buffer copies_;
};

}  // namespace commlens
