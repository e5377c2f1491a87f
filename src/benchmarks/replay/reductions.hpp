// Numbers whose reduction has an exact answer, for types of MPI that are integers or real numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {

enum class NumberKind : std::uint8_t { integer, natural, real, complex };
/// Of a type of MPI; nothing for pairs, characters, bytes.
std::optional<NumberKind> number_kind(std::string_view type);

/// Of elements of one type, one after the other, and of one operation.
class ExactReduction {
 public:
  /// Nothing where the answer cannot be told: for operations of the program's own, complex numbers, pairs.
  static std::optional<ExactReduction> of(const TraceType& type, std::string_view operation);

  /// What `rank` gives: elements `first` to `first + count`. `seed` makes calls differ.
  [[nodiscard]] std::vector<std::byte> contribution(std::size_t first, std::size_t count, std::int64_t rank,
                                                    std::uint64_t seed) const;
  /// What ranks 0 to `ranks` give together.
  [[nodiscard]] std::vector<std::byte> result(std::size_t first, std::size_t count, std::int64_t ranks,
                                              std::uint64_t seed) const;

 private:
  enum class Operation : std::uint8_t { sum, product, maximum, minimum, bits_and, bits_or, bits_xor, all, any, odd };

  ExactReduction(NumberKind kind, std::size_t size, Operation operation)
      : kind_(kind), size_(size), operation_(operation) {}

  [[nodiscard]] std::int64_t value_of(std::size_t index, std::int64_t rank, std::uint64_t seed) const;
  [[nodiscard]] std::int64_t value_of_all(std::size_t index, std::int64_t ranks, std::uint64_t seed) const;
  void store(std::byte* to, std::int64_t value) const;

  NumberKind kind_;
  std::size_t size_;
  Operation operation_;
};

}  // namespace commlens::replay
