#include "transport/mpi_types.hpp"

#include <array>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/reductions.hpp"

namespace commlens::transport {

MPI_Datatype mpi_type(DataType type) {
  return entry_of(std::array{MPI_INT8_T, MPI_UINT8_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT16_T, MPI_UINT16_T, MPI_UINT8_T,
                             MPI_UINT8_T, MPI_FLOAT, MPI_DOUBLE, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX},
                  type);
}

bool mpi_reduces(DataType type) { return is_integer(type) || type >= DataType::f32; }

MPI_Op mpi_operation(Reduction reduction, DataType type) {
  require_sum_of_complex(reduction, type);
  if (!mpi_reduces(type)) throw Error("MPI has no reduction of " + std::string(name(type)));
  MPI_Op operation = entry_of(std::array{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL,
                                         MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR},
                              reduction);
  if (operation == MPI_OP_NULL) throw Error("MPI has no reduction " + std::string(name(reduction)));
  return operation;
}

namespace {

/// Of MPI_Op_create, whose functions get no more than this: one for each type and reduction.
template <class Element, class Combine>
// NOLINTNEXTLINE(readability-non-const-parameter): as MPI declares it
void combine_arrays(void* input, void* in_and_output, int* length, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const auto count = static_cast<std::size_t>(*length) * static_cast<std::size_t>(bytes) / sizeof(Element);
  const auto* from = static_cast<const Element*>(input);
  auto* into = static_cast<Element*>(in_and_output);
  for (std::size_t i = 0; i < count; ++i) into[i] = Combine()(from[i], into[i]);
}

}  // namespace

MpiReduction::MpiReduction(Reduction reduction, DataType type) : owned_(is_ours(reduction, type)) {
  if (!owned_) {
    handle_ = mpi_operation(reduction, type);
    return;
  }
  with_operation(type, reduction, [&](auto element, auto operation) {
    CALL_MPI(MPI_Op_create, combine_arrays<decltype(element), decltype(operation)>, 1, &handle_);
  });
}

MpiReduction::~MpiReduction() {
  if (owned_) MPI_Op_free(&handle_);
}

MPI_Datatype contiguous(std::size_t count, MPI_Datatype element, std::size_t most) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (count <= most) {
    CALL_MPI(MPI_Type_contiguous, static_cast<int>(count), element, &type);
  } else {
    MPI_Aint lower = 0;
    MPI_Aint size = 0;
    CALL_MPI(MPI_Type_get_extent, element, &lower, &size);
    MPI_Datatype piece = contiguous(most, element);
    const std::array lengths{static_cast<int>(count / most), static_cast<int>(count % most)};
    const std::array offsets{MPI_Aint{0}, static_cast<MPI_Aint>(count - count % most) * size};
    const std::array types{piece, element};
    CALL_MPI(MPI_Type_create_struct, 2, lengths.data(), offsets.data(), types.data(), &type);
    CALL_MPI(MPI_Type_free, &piece);
  }
  CALL_MPI(MPI_Type_commit, &type);
  return type;
}

template <class Count, class Displacement>
BasicLayout<Count, Displacement>::BasicLayout(std::span<const Piece> pieces, const char* call, MPI_Datatype element)
    : type_(element) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<Displacement>::max());
  const std::size_t end = mpi_calls::extent(pieces);
  std::size_t unit = 1;
  if (end > most) {
    unit = 0;
    for (const Piece& piece : pieces) unit = std::gcd(unit, std::gcd(piece.offset, piece.bytes));
    if (end / unit > most) {
      throw Error(std::string(call) + ": pieces that reach " + std::to_string(end) +
                  " elements but share no unit larger than " + std::to_string(unit) +
                  " elements do not fit its int displacements");
    }
  }
  for (const Piece& piece : pieces) {
    counts_.push_back(static_cast<Count>(piece.bytes / unit));
    displacements_.push_back(static_cast<Displacement>(piece.offset / unit));
  }
  if (unit == 1) return;
  type_ = contiguous(unit, element);
  owned_ = true;
}

template <class Count, class Displacement>
BasicLayout<Count, Displacement>::~BasicLayout() {
  if (owned_) MPI_Type_free(&type_);
}

template class BasicLayout<int, int>;
template class BasicLayout<MPI_Count, MPI_Aint>;

}  // namespace commlens::transport
