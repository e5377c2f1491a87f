#include "benchmarks/replay/handles.hpp"

#include <algorithm>
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

MPI_Datatype bytes_of(const TraceType& type) {
  MPI_Datatype bytes = transport::contiguous(static_cast<std::size_t>(type.size), MPI_BYTE);
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  const int status = PMPI_Type_create_resized(bytes, 0, static_cast<MPI_Aint>(stride(type)), &resized);
  PMPI_Type_free(&bytes);
  transport::check_mpi(status, "MPI_Type_create_resized");
  CALL_MPI(PMPI_Type_commit, &resized);
  return resized;
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
