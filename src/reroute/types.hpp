// Types and operations of MPI, and those of NCCL and RCCL that are the same.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace commlens::reroute {

/// NCCL's numbers (ncclDataType_t, ncclRedOp_t), which have not changed since 2.0.
enum class CclType : std::uint8_t {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float32 = 7,
  float64 = 8,
  none = 9
};
enum class Reduction : std::uint8_t { sum, product, maximum, minimum, none };

/// `none` where there is none.
CclType ccl_type_of(MPI_Datatype type);
Reduction reduction_of(MPI_Op operation);
std::uint64_t size_of(CclType type);
constexpr bool is_floating(CclType type) { return type == CclType::float32 || type == CclType::float64; }

struct TypeLayout {
  std::uint64_t size;  // bytes of data
  std::int64_t extent;
  std::int64_t true_lower_bound;
  std::int64_t true_extent;
  /// Whether its data is its memory: without gaps, in the order of the addresses, and each byte once.
  bool is_dense;
};
TypeLayout layout_of(MPI_Datatype type);

/// Reads MPI's handles, once.
void find_types();

}  // namespace commlens::reroute
