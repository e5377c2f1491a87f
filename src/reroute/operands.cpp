#include "operands.hpp"

namespace commlens::reroute {
namespace {

/// `blocks` blocks of `count` elements.
Side side(const void* buffer, MPI_Datatype type, int blocks, MPI_Count count) {
  Side made;
  made.base = static_cast<char*>(const_cast<void*>(buffer));
  made.type = type;
  made.layout = layout_of(type);
  made.blocks = blocks;
  made.count = static_cast<std::uint64_t>(count);
  return made;
}

Side side(const void* buffer, MPI_Datatype type, int blocks, const void* counts, const void* offsets, bool is_large) {
  Side made = side(buffer, type, blocks, 0);
  made.counts = counts;
  made.offsets = offsets;
  made.is_large = is_large;
  return made;
}

/// One of its blocks alone.
Side block_of(const Side& all, int block) {
  Side one = all;
  one.base = all.address(block);
  one.blocks = 1;
  one.count = all.elements(block);
  one.counts = nullptr;
  one.offsets = nullptr;
  return one;
}

std::uint64_t sum_of(const void* counts, bool is_large, int ranks) {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += count_at(counts, is_large, rank);
  return sum;
}

Operands of_reduction(const Arguments& a, int rank, int ranks) {
  Operands made;
  made.is_in_place = is_in_place(a.sendbuf);
  const void* input = made.is_in_place ? a.recvbuf : a.sendbuf;
  MPI_Count sent = a.count;
  MPI_Count received = a.count;
  if (base_of(a.function) == Function::reduce_scatter_block) {
    sent = a.recvcount * ranks;
    received = a.recvcount;
  } else if (base_of(a.function) == Function::reduce_scatter) {
    sent = static_cast<MPI_Count>(sum_of(a.recvcounts, a.is_large, ranks));
    received = static_cast<MPI_Count>(count_at(a.recvcounts, a.is_large, rank));
  }
  made.send = side(input, a.datatype, 1, sent);
  if (base_of(a.function) != Function::reduce || a.root == rank) {
    made.receive = side(a.recvbuf, a.datatype, 1, received);
  }
  return made;
}

Operands of_gather_to_all(const Arguments& a, int rank, int ranks) {
  Operands made;
  made.is_in_place = is_in_place(a.sendbuf);
  made.receive = base_of(a.function) == Function::allgather
                     ? side(a.recvbuf, a.recvtype, ranks, a.recvcount)
                     : side(a.recvbuf, a.recvtype, ranks, a.recvcounts, a.displs, a.is_large);
  made.send = made.is_in_place ? block_of(made.receive, rank) : side(a.sendbuf, a.sendtype, 1, a.sendcount);
  return made;
}

/// MPI_IN_PLACE is not rerouted.
Operands of_exchange(const Arguments& a, int ranks) {
  Operands made;
  made.is_in_place = is_in_place(a.sendbuf);
  const bool is_even = base_of(a.function) == Function::alltoall;
  made.receive = is_even ? side(a.recvbuf, a.recvtype, ranks, a.recvcount)
                         : side(a.recvbuf, a.recvtype, ranks, a.recvcounts, a.rdispls, a.is_large);
  if (made.is_in_place) {
    made.send = made.receive;
  } else {
    made.send = is_even ? side(a.sendbuf, a.sendtype, ranks, a.sendcount)
                        : side(a.sendbuf, a.sendtype, ranks, a.sendcounts, a.sdispls, a.is_large);
  }
  return made;
}

Operands of_rooted(const Arguments& a, int rank, int ranks) {
  Operands made;
  const bool is_root = a.root == rank;
  if (base_of(a.function) == Function::bcast) {
    (is_root ? made.send : made.receive) = side(a.buffer, a.datatype, 1, a.count);
  } else if (base_of(a.function) == Function::gather) {
    made.is_in_place = is_root && is_in_place(a.sendbuf);
    if (is_root) made.receive = side(a.recvbuf, a.recvtype, ranks, a.recvcount);
    made.send = made.is_in_place ? block_of(made.receive, rank) : side(a.sendbuf, a.sendtype, 1, a.sendcount);
  } else {
    made.is_in_place = is_root && is_in_place(a.recvbuf);
    if (is_root) made.send = side(a.sendbuf, a.sendtype, ranks, a.sendcount);
    if (!made.is_in_place) made.receive = side(a.recvbuf, a.recvtype, 1, a.recvcount);
  }
  return made;
}

std::uint64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  if (type == reroute.mpi.null_type || reroute.mpi.type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(size);
}

std::uint64_t times(MPI_Count count, MPI_Datatype type, int blocks = 1) {
  return count <= 0 ? 0 : static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(blocks) * size_of(type);
}

int ranks_of(MPI_Comm communicator) {
  int ranks = 0;
  reroute.mpi.comm_size(communicator, &ranks);
  return ranks;
}

bool is_root(const Arguments& arguments) {
  int rank = -1;
  reroute.mpi.comm_rank(arguments.comm, &rank);
  return rank == arguments.root;
}

}  // namespace

char* Side::address(int block) const {
  std::int64_t elements_before = 0;
  if (offsets != nullptr) {
    elements_before = is_large ? static_cast<const MPI_Aint*>(offsets)[block] : static_cast<const int*>(offsets)[block];
  } else if (counts == nullptr) {
    elements_before = static_cast<std::int64_t>(count) * block;
  } else {
    for (int before = 0; before < block; ++before) elements_before += static_cast<std::int64_t>(elements(before));
  }
  return base + elements_before * layout.extent;
}

std::uint64_t Side::bytes_before(int block) const {
  if (counts == nullptr) return static_cast<std::uint64_t>(block) * count * layout.size;
  std::uint64_t sum = 0;
  for (int before = 0; before < block; ++before) sum += bytes(before);
  return sum;
}

Side::Span Side::span_of(int first, int end) const {
  char* begin = nullptr;
  char* last = nullptr;
  for (int block = first; block < end; ++block) {
    const auto number = static_cast<std::int64_t>(elements(block));
    if (number == 0 || layout.size == 0) continue;
    char* from = address(block) + layout.true_lower_bound;
    char* to = from + (number - 1) * layout.extent + layout.true_extent;
    if (begin == nullptr || from < begin) begin = from;
    if (last == nullptr || to > last) last = to;
  }
  return {begin, static_cast<std::uint64_t>(last - begin)};
}

Operands operands_of(const Arguments& arguments, int rank, int ranks) {
  const Function base = base_of(arguments.function);
  if (is_reduction(base)) return of_reduction(arguments, rank, ranks);
  if (base == Function::allgather || base == Function::allgatherv) return of_gather_to_all(arguments, rank, ranks);
  if (base == Function::alltoall || base == Function::alltoallv) return of_exchange(arguments, ranks);
  if (is_message(base)) {
    Operands made;
    (base == Function::send ? made.send : made.receive) = side(arguments.buf, arguments.datatype, 1, arguments.count);
    return made;
  }
  return of_rooted(arguments, rank, ranks);
}

std::uint64_t bytes_of(const Arguments& a) {
  if (a.comm == reroute.mpi.null_communicator) return 0;
  const bool has_no_data = has_root(base_of(a.function)) && a.root < 0;  // of an intercommunicator
  if (has_no_data) return 0;
  switch (base_of(a.function)) {
    case Function::allreduce:
    case Function::reduce:
    case Function::bcast:
      return times(a.count, a.datatype);
    case Function::send:
      return a.dest == MPI_PROC_NULL ? 0 : times(a.count, a.datatype);
    case Function::recv:
      return a.source == MPI_PROC_NULL ? 0 : times(a.count, a.datatype);
    case Function::reduce_scatter_block:
      return times(a.recvcount, a.datatype, ranks_of(a.comm));
    case Function::reduce_scatter:
      return sum_of(a.recvcounts, a.is_large, ranks_of(a.comm)) * size_of(a.datatype);
    case Function::allgather:
    case Function::alltoall:
      return times(a.recvcount, a.recvtype, ranks_of(a.comm));
    case Function::allgatherv:
      return sum_of(a.recvcounts, a.is_large, ranks_of(a.comm)) * size_of(a.recvtype);
    case Function::alltoallv:
      return is_in_place(a.sendbuf) ? sum_of(a.recvcounts, a.is_large, ranks_of(a.comm)) * size_of(a.recvtype)
                                    : sum_of(a.sendcounts, a.is_large, ranks_of(a.comm)) * size_of(a.sendtype);
    case Function::gather:
      return is_root(a) ? times(a.recvcount, a.recvtype, ranks_of(a.comm))
                        : times(a.sendcount, a.sendtype, ranks_of(a.comm));
    case Function::scatter:
      return is_root(a) ? times(a.sendcount, a.sendtype, ranks_of(a.comm))
                        : times(a.recvcount, a.recvtype, ranks_of(a.comm));
    default:
      return 0;
  }
}

std::uint64_t sent_bytes_of(const Arguments& arguments, std::uint64_t bytes) {
  if (bytes == 0) return 0;
  switch (base_of(arguments.function)) {
    case Function::allgather:
    case Function::gather:
    case Function::scatter:
      return bytes / static_cast<std::uint64_t>(ranks_of(arguments.comm));
    case Function::allgatherv: {
      int rank = 0;
      reroute.mpi.comm_rank(arguments.comm, &rank);
      return count_at(arguments.recvcounts, arguments.is_large, rank) * size_of(arguments.recvtype);
    }
    default:
      return bytes;
  }
}

const Side& written_side(const Operands& operands) {
  return operands.is_in_place && operands.send.total() > operands.receive.total() ? operands.send : operands.receive;
}

bool needs_other_memory(const Arguments& arguments, const Operands& operands) {
  const Function base = base_of(arguments.function);
  return operands.is_in_place && (base == Function::reduce_scatter || base == Function::reduce_scatter_block);
}

Arguments with_buffers(const Arguments& arguments, char* send, char* receive) {
  Arguments changed = arguments;
  char* either = send != nullptr ? send : receive;
  if (either != nullptr) changed.buffer = changed.buf = either;
  if (!is_in_place(arguments.sendbuf) && send != nullptr) changed.sendbuf = send;
  if (!is_in_place(arguments.recvbuf) && receive != nullptr) changed.recvbuf = receive;
  return changed;
}

}  // namespace commlens::reroute
