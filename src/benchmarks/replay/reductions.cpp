#include "benchmarks/replay/reductions.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace commlens::replay {
namespace {

/// Each rank gives one of so many values, and the next rank the next one.
constexpr std::uint64_t distinct_values = 3;

/// A product of ones and a single two: it fits into a byte.
constexpr std::uint64_t most_factors = 64;

}  // namespace

std::optional<NumberKind> number_kind(std::string_view type) {
  constexpr std::array integers{"MPI_SIGNED_CHAR", "MPI_SHORT",    "MPI_INT",      "MPI_LONG",     "MPI_LONG_LONG",
                                "MPI_INT8_T",      "MPI_INT16_T",  "MPI_INT32_T",  "MPI_INT64_T",  "MPI_LONG_LONG_INT",
                                "MPI_INTEGER",     "MPI_INTEGER1", "MPI_INTEGER2", "MPI_INTEGER4", "MPI_INTEGER8",
                                "MPI_AINT",        "MPI_COUNT",    "MPI_OFFSET"};
  constexpr std::array naturals{"MPI_UNSIGNED_CHAR", "MPI_UNSIGNED_SHORT",     "MPI_UNSIGNED",
                                "MPI_UNSIGNED_LONG", "MPI_UNSIGNED_LONG_LONG", "MPI_UINT8_T",
                                "MPI_UINT16_T",      "MPI_UINT32_T",           "MPI_UINT64_T"};
  constexpr std::array reals{"MPI_FLOAT", "MPI_DOUBLE", "MPI_REAL", "MPI_DOUBLE_PRECISION", "MPI_REAL4", "MPI_REAL8"};
  constexpr std::array complexes{"MPI_C_COMPLEX",         "MPI_C_FLOAT_COMPLEX",    "MPI_C_DOUBLE_COMPLEX",
                                 "MPI_CXX_FLOAT_COMPLEX", "MPI_CXX_DOUBLE_COMPLEX", "MPI_COMPLEX",
                                 "MPI_DOUBLE_COMPLEX",    "MPI_COMPLEX8",           "MPI_COMPLEX16"};
  const auto is_among = [&](const auto& names) { return std::find(names.begin(), names.end(), type) != names.end(); };
  if (is_among(integers)) return NumberKind::integer;
  if (is_among(naturals)) return NumberKind::natural;
  if (is_among(reals)) return NumberKind::real;
  if (is_among(complexes)) return NumberKind::complex;
  return std::nullopt;
}

std::optional<ExactReduction> ExactReduction::of(const TraceType& type, std::string_view operation) {
  const auto kind = number_kind(type.name);
  const auto size = static_cast<std::size_t>(type.size);
  if (!kind || *kind == NumberKind::complex || type.extent != type.size) return std::nullopt;
  if (size != 4 && size != 8 && (*kind == NumberKind::real || (size != 1 && size != 2))) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, Operation>, 4> of_all{{{"MPI_SUM", Operation::sum},
                                                                          {"MPI_PROD", Operation::product},
                                                                          {"MPI_MAX", Operation::maximum},
                                                                          {"MPI_MIN", Operation::minimum}}};
  constexpr std::array<std::pair<std::string_view, Operation>, 6> of_integers{{{"MPI_BAND", Operation::bits_and},
                                                                               {"MPI_BOR", Operation::bits_or},
                                                                               {"MPI_BXOR", Operation::bits_xor},
                                                                               {"MPI_LAND", Operation::all},
                                                                               {"MPI_LOR", Operation::any},
                                                                               {"MPI_LXOR", Operation::odd}}};
  for (const auto& [name, known] : of_all) {
    if (name == operation) return ExactReduction(*kind, size, known);
  }
  if (*kind == NumberKind::real) return std::nullopt;
  for (const auto& [name, known] : of_integers) {
    if (name == operation) return ExactReduction(*kind, size, known);
  }
  return std::nullopt;
}

std::int64_t ExactReduction::value_of(std::size_t index, std::int64_t rank, std::uint64_t seed) const {
  if (operation_ == Operation::product) {
    return static_cast<std::uint64_t>(rank) == (index + seed % most_factors) % most_factors ? 2 : 1;
  }
  const auto turn = (index + seed % distinct_values + static_cast<std::uint64_t>(rank)) % distinct_values;
  const bool is_logical = operation_ == Operation::all || operation_ == Operation::any || operation_ == Operation::odd;
  return static_cast<std::int64_t>(is_logical ? turn / 2 : turn + 1);
}

std::int64_t ExactReduction::value_of_all(std::size_t index, std::int64_t ranks, std::uint64_t seed) const {
  if (operation_ == Operation::product) {
    const auto factor = static_cast<std::int64_t>((index + seed % most_factors) % most_factors);
    return factor < ranks ? 2 : 1;
  }
  // Ranks `turn`, `turn + distinct_values`, ... give the same.
  std::int64_t all = 0;
  for (std::int64_t turn = 0; turn < std::min<std::int64_t>(distinct_values, ranks); ++turn) {
    const std::int64_t value = value_of(index, turn, seed);
    const std::int64_t times =
        (ranks - turn + static_cast<std::int64_t>(distinct_values) - 1) / static_cast<std::int64_t>(distinct_values);
    const std::int64_t odd = times % 2;
    const bool is_first = turn == 0;
    switch (operation_) {
      case Operation::sum:
        all += value * times;
        break;
      case Operation::maximum:
        all = is_first ? value : std::max(all, value);
        break;
      case Operation::minimum:
        all = is_first ? value : std::min(all, value);
        break;
      case Operation::bits_and:
      case Operation::all:
        all = is_first ? value : all & value;
        break;
      case Operation::bits_or:
      case Operation::any:
        all |= value;
        break;
      default:
        all ^= odd * value;
    }
  }
  return all;
}

void ExactReduction::store(std::byte* to, std::int64_t value) const {
  const auto put = [to](auto number) { std::memcpy(to, &number, sizeof number); };
  if (kind_ == NumberKind::real) {
    size_ == 4 ? put(static_cast<float>(value)) : put(static_cast<double>(value));
  } else if (size_ == 1) {
    put(static_cast<std::int8_t>(value));
  } else if (size_ == 2) {
    put(static_cast<std::int16_t>(value));
  } else if (size_ == 4) {
    put(static_cast<std::int32_t>(value));
  } else {
    put(value);
  }
}

std::vector<std::byte> ExactReduction::contribution(std::size_t first, std::size_t count, std::int64_t rank,
                                                    std::uint64_t seed) const {
  std::vector<std::byte> numbers(count * size_);
  for (std::size_t i = 0; i < count; ++i) store(&numbers[i * size_], value_of(first + i, rank, seed));
  return numbers;
}

std::vector<std::byte> ExactReduction::result(std::size_t first, std::size_t count, std::int64_t ranks,
                                              std::uint64_t seed) const {
  std::vector<std::byte> numbers(count * size_);
  for (std::size_t i = 0; i < count; ++i) store(&numbers[i * size_], value_of_all(first + i, ranks, seed));
  return numbers;
}

}  // namespace commlens::replay
