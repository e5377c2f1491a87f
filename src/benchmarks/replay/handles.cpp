#include "benchmarks/replay/handles.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "benchmarks/replay/program.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_types.hpp"

namespace commlens::replay {
namespace {

/// An MPI_User_function.
void keep(void* /*in*/, void* /*in_and_out*/, int* /*count*/, MPI_Datatype* /*type*/) {}

/// The type of MPI where it is what the trace says.
MPI_Datatype same_named_type(const TraceType& type) {
  const MPI_Datatype named = named_type(type.name);
  if (named == MPI_DATATYPE_NULL) return named;
  int size = 0;
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  CALL_MPI(PMPI_Type_size, named, &size);
  CALL_MPI(PMPI_Type_get_extent, named, &lower_bound, &extent);
  return size == type.size && extent == stride(type) ? named : MPI_DATATYPE_NULL;
}

MPI_Datatype resized(MPI_Datatype type, std::size_t extent) {
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  const int status = PMPI_Type_create_resized(type, 0, static_cast<MPI_Aint>(extent), &resized);
  PMPI_Type_free(&type);
  transport::check_mpi(status, "MPI_Type_create_resized");
  return resized;
}

/// Pieces of one length; the last one may be shorter.
MPI_Datatype pieces_as_type(const Pieces& pieces) {
  const auto stride = static_cast<MPI_Aint>(pieces.stride);
  const bool is_even = pieces.last_bytes == pieces.bytes;
  const auto count = static_cast<int>(is_even ? pieces.count : pieces.count - 1);
  MPI_Datatype piece = transport::contiguous(pieces.bytes, MPI_BYTE);
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  int status = PMPI_Type_create_hvector(count, 1, stride, piece, &whole);
  PMPI_Type_free(&piece);
  transport::check_mpi(status, "MPI_Type_create_hvector");
  if (is_even) return whole;
  std::array<MPI_Datatype, 2> parts{whole, transport::contiguous(pieces.last_bytes, MPI_BYTE)};
  const std::array<int, 2> lengths{1, 1};
  const std::array<MPI_Aint, 2> places{0, count * stride};
  MPI_Datatype all = MPI_DATATYPE_NULL;
  status = PMPI_Type_create_struct(2, lengths.data(), places.data(), parts.data(), &all);
  for (MPI_Datatype& part : parts) PMPI_Type_free(&part);
  transport::check_mpi(status, "MPI_Type_create_struct");
  return all;
}

MPI_Datatype bytes_of(const TraceType& type) {
  const Pieces pieces = pieces_of(type);
  MPI_Datatype bytes =
      pieces.count > 1 ? pieces_as_type(pieces) : transport::contiguous(static_cast<std::size_t>(type.size), MPI_BYTE);
  bytes = resized(bytes, static_cast<std::size_t>(stride(type)));
  CALL_MPI(PMPI_Type_commit, &bytes);
  return bytes;
}

}  // namespace

Handles::Handles(const Trace& trace)
    : trace_(trace), types_(trace.types.size(), MPI_DATATYPE_NULL), is_owned_(trace.types.size()) {
  CALL_MPI(PMPI_Op_create, keep, 1, &keep_);
}

Handles::~Handles() {
  for (std::size_t number = 0; number < types_.size(); ++number) {
    if (is_owned_[number]) PMPI_Type_free(&types_[number]);
  }
  PMPI_Op_free(&keep_);
}

MPI_Datatype Handles::type(std::size_t number) {
  if (number == Side::no_type) return MPI_BYTE;
  MPI_Datatype& handle = types_[number];
  if (handle != MPI_DATATYPE_NULL) return handle;
  handle = same_named_type(trace_.types[number]);
  if (handle != MPI_DATATYPE_NULL) return handle;
  handle = bytes_of(trace_.types[number]);
  is_owned_[number] = true;
  return handle;
}

void Handles::complete(Side& side) {
  if (!side.is_used && side.type_number == Side::no_type) return;
  side.type = type(side.type_number);
  side.types.clear();
  for (const std::size_t number : side.type_numbers) side.types.push_back(type(number));
}

void Handles::complete(Arguments& call) {
  complete(call.send);
  complete(call.receive);
  if (is_reduction(call.function->pattern)) call.operation = operation(call);
}

/// MPI's own operations are defined for its own types alone.
MPI_Op Handles::operation(const Arguments& call) const {
  const std::size_t type = call.receive.type_number;
  if (call.operation_number == Arguments::no_operation || type == Side::no_type || is_owned_[type]) return keep_;
  const MPI_Op named = named_operation(trace_.operations[call.operation_number]);
  return named == MPI_OP_NULL ? keep_ : named;
}

}  // namespace commlens::replay
