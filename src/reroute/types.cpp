#include "types.hpp"

#include <cstddef>

#include "reroute.hpp"

namespace commlens::reroute {
namespace {

// Handles are addresses in Open MPI, to which the library is not linked, and numbers elsewhere.
#if defined(OPEN_MPI)
#define TYPE(name, symbol) static_cast<MPI_Datatype>(preload::variable("ompi_mpi_" symbol))
#define OPERATION(name, symbol) static_cast<MPI_Op>(preload::variable("ompi_mpi_op_" symbol))
#else
#define TYPE(name, symbol) name
#define OPERATION(name, symbol) name
#endif

enum class Kind : std::uint8_t { integer, natural, real };

struct KnownType {
  MPI_Datatype type;
  CclType ccl;
};
constexpr int max_types = 32;
KnownType known_types[max_types];
int type_count = 0;

MPI_Op known_operations[4];

CclType with_size(Kind kind, std::uint64_t size) {
  if (kind == Kind::real) return size == 4 ? CclType::float32 : size == 8 ? CclType::float64 : CclType::none;
  const bool is_integer = kind == Kind::integer;
  if (size == 1) return is_integer ? CclType::int8 : CclType::uint8;
  if (size == 4) return is_integer ? CclType::int32 : CclType::uint32;
  return size == 8 ? (is_integer ? CclType::int64 : CclType::uint64) : CclType::none;
}

/// A type that the MPI at hand may lack, or have with another size.
void add(MPI_Datatype type, Kind kind) {
  MPI_Count size = 0;
  if (key_of(type) == 0 || type == reroute.mpi.null_type) return;
  if (reroute.mpi.type_size(type, &size) != MPI_SUCCESS || size <= 0) return;
  const CclType ccl = with_size(kind, static_cast<std::uint64_t>(size));
  if (ccl != CclType::none) known_types[type_count++] = {type, ccl};
}

/// Whether elements of the type that it is made of follow each other in memory as they do in the data. Size and extent
/// do not tell: a transposed matrix has those of the matrix. Types made in other ways are taken for not ordered.
bool is_ordered(MPI_Datatype type) {
  int integer_count = 0;
  int address_count = 0;
  int type_count_of = 0;
  int combiner = MPI_COMBINER_NAMED;
  reroute.mpi.type_get_envelope(type, &integer_count, &address_count, &type_count_of, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return true;
  if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_VECTOR)
    return false;
  int integers[3] = {};  // of a vector: count, block length, stride
  MPI_Aint addresses[1] = {};
  MPI_Datatype inner[1] = {};
  reroute.mpi.type_get_contents(type, integer_count, address_count, type_count_of, integers, addresses, inner);
  const bool is_vector_with_gaps = combiner == MPI_COMBINER_VECTOR && integers[1] != integers[2];
  const bool is_inner_ordered = !is_vector_with_gaps && is_ordered(inner[0]);
  reroute.mpi.type_get_envelope(inner[0], &integer_count, &address_count, &type_count_of, &combiner);
  if (combiner != MPI_COMBINER_NAMED) reroute.mpi.type_free(inner);
  return is_inner_ordered;
}

}  // namespace

void find_types() {
  if (type_count != 0) return;
  add(TYPE(MPI_DOUBLE, "double"), Kind::real);
  add(TYPE(MPI_FLOAT, "float"), Kind::real);
  add(TYPE(MPI_INT, "int"), Kind::integer);
  add(TYPE(MPI_LONG, "long"), Kind::integer);
  add(TYPE(MPI_LONG_LONG, "long_long_int"), Kind::integer);
  add(TYPE(MPI_SIGNED_CHAR, "signed_char"), Kind::integer);
  add(TYPE(MPI_UNSIGNED, "unsigned"), Kind::natural);
  add(TYPE(MPI_UNSIGNED_LONG, "unsigned_long"), Kind::natural);
  add(TYPE(MPI_UNSIGNED_LONG_LONG, "unsigned_long_long"), Kind::natural);
  add(TYPE(MPI_UNSIGNED_CHAR, "unsigned_char"), Kind::natural);
  add(TYPE(MPI_INT8_T, "int8_t"), Kind::integer);
  add(TYPE(MPI_INT32_T, "int32_t"), Kind::integer);
  add(TYPE(MPI_INT64_T, "int64_t"), Kind::integer);
  add(TYPE(MPI_UINT8_T, "uint8_t"), Kind::natural);
  add(TYPE(MPI_UINT32_T, "uint32_t"), Kind::natural);
  add(TYPE(MPI_UINT64_T, "uint64_t"), Kind::natural);
  add(TYPE(MPI_AINT, "aint"), Kind::integer);
  add(TYPE(MPI_OFFSET, "offset"), Kind::integer);
  add(TYPE(MPI_COUNT, "count"), Kind::integer);
  add(TYPE(MPI_INTEGER, "integer"), Kind::integer);
  add(TYPE(MPI_REAL, "real"), Kind::real);
  add(TYPE(MPI_DOUBLE_PRECISION, "dblprec"), Kind::real);
  add(TYPE(MPI_INTEGER4, "integer4"), Kind::integer);
  add(TYPE(MPI_INTEGER8, "integer8"), Kind::integer);
  add(TYPE(MPI_REAL4, "real4"), Kind::real);
  add(TYPE(MPI_REAL8, "real8"), Kind::real);
  known_operations[static_cast<int>(Reduction::sum)] = OPERATION(MPI_SUM, "sum");
  known_operations[static_cast<int>(Reduction::product)] = OPERATION(MPI_PROD, "prod");
  known_operations[static_cast<int>(Reduction::maximum)] = OPERATION(MPI_MAX, "max");
  known_operations[static_cast<int>(Reduction::minimum)] = OPERATION(MPI_MIN, "min");
}

CclType ccl_type_of(MPI_Datatype type) {
  for (int index = 0; index < type_count; ++index) {
    if (known_types[index].type == type) return known_types[index].ccl;
  }
  return CclType::none;
}

Reduction reduction_of(MPI_Op operation) {
  int index = 0;
  for (const MPI_Op known : known_operations) {
    if (known == operation) return static_cast<Reduction>(index);
    ++index;
  }
  return Reduction::none;
}

std::uint64_t size_of(CclType type) {
  constexpr std::uint64_t sizes[] = {1, 1, 4, 4, 8, 8, 0, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

TypeLayout layout_of(MPI_Datatype type) {
  MPI_Count size = 0;
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lower_bound = 0;
  MPI_Aint true_extent = 0;
  reroute.mpi.type_size(type, &size);
  reroute.mpi.type_get_extent(type, &lower_bound, &extent);
  reroute.mpi.type_get_true_extent(type, &true_lower_bound, &true_extent);
  const bool has_gaps = true_lower_bound != 0 || extent != true_extent || size != extent;
  return {static_cast<std::uint64_t>(size), extent, true_lower_bound, true_extent, !has_gaps && is_ordered(type)};
}

}  // namespace commlens::reroute
