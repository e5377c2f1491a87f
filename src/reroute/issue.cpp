// The calls of NCCL that do what a function of MPI does.
#include <cstdint>

#include "operation.hpp"

namespace commlens::reroute {
namespace {

/// Where the blocks of a side are.
struct Blocks {
  const Side& side;
  char* copy;
  [[nodiscard]] char* at(int block) const {
    return copy != nullptr ? copy + side.bytes_before(block) : side.address(block);
  }
  [[nodiscard]] std::uint64_t bytes(int block) const { return side.bytes(block); }
  [[nodiscard]] bool is_empty() const { return side.blocks == 0; }
};

struct Issue {
  const Arguments& arguments;
  Blocks send;
  Blocks receive;
  int type;
  int reduction;
  int rank;
  int ranks;
  CclHandle handle;
  Stream stream;

  [[nodiscard]] int reduce() const {
    char* result = receive.is_empty() ? nullptr : receive.at(0);
    return ccl.reduce(send.at(0), result, send.side.elements(0), type, reduction, arguments.root, handle, stream);
  }

  [[nodiscard]] int reduce_scatter() const {
    const std::uint64_t elements = receive.side.elements(0);
    if (is_even()) {
      return ccl.reduce_scatter(send.at(0), receive.at(0), elements, type, reduction, handle, stream);
    }
    char* part = send.at(0);
    int error = ccl.group_start();
    for (int root = 0; root < ranks && error == 0; ++root) {
      const std::uint64_t count = count_of(root);
      char* result = root == rank ? receive.at(0) : nullptr;
      if (count != 0) error = ccl.reduce(part, result, count, type, reduction, root, handle, stream);
      part += count * send.side.layout.size;
    }
    return end_group(error);
  }

  /// That the rank receives in MPI_Reduce_scatter.
  [[nodiscard]] std::uint64_t count_of(int receiver) const {
    return count_at(arguments.recvcounts, arguments.is_large, receiver);
  }

  /// Whether all ranks receive as much.
  [[nodiscard]] bool is_even() const {
    if (arguments.recvcounts == nullptr) return true;
    for (int other = 1; other < ranks; ++other) {
      if (count_of(other) != count_of(0)) return false;
    }
    return true;
  }

  [[nodiscard]] int broadcast() const {
    const Blocks& buffer = rank == arguments.root ? send : receive;
    return ccl.broadcast(buffer.at(0), buffer.at(0), buffer.bytes(0), ccl_bytes, arguments.root, handle, stream);
  }

  [[nodiscard]] int gather_to_all() const {
    if (arguments.recvcounts == nullptr) {
      return ccl.all_gather(send.at(0), receive.at(0), receive.bytes(0), ccl_bytes, handle, stream);
    }
    int error = ccl.group_start();
    for (int root = 0; root < ranks && error == 0; ++root) {
      if (receive.bytes(root) == 0) continue;
      const char* input = root == rank ? send.at(0) : receive.at(root);
      error = ccl.broadcast(input, receive.at(root), receive.bytes(root), ccl_bytes, root, handle, stream);
    }
    return end_group(error);
  }

  [[nodiscard]] int exchange() const {
    int error = ccl.group_start();
    for (int peer = 0; peer < ranks && error == 0; ++peer) {
      if (send.bytes(peer) != 0) error = send_to(peer, peer);
      if (receive.bytes(peer) != 0 && error == 0) error = receive_from(peer, peer);
    }
    return end_group(error);
  }

  [[nodiscard]] int gather() const {
    const bool is_root = rank == arguments.root;
    int error = ccl.group_start();
    for (int peer = 0; is_root && peer < ranks && error == 0; ++peer) {
      if (peer != rank) error = receive_from(peer, peer);
    }
    const bool is_there = is_root && send.at(0) == receive.at(rank);
    if (error == 0 && !is_there) error = send_to(arguments.root, 0);
    if (error == 0 && is_root && !is_there) error = receive_from(rank, rank);
    return end_group(error);
  }

  [[nodiscard]] int scatter() const {
    const bool is_root = rank == arguments.root;
    int error = ccl.group_start();
    for (int peer = 0; is_root && peer < ranks && error == 0; ++peer) {
      if (peer != rank || !receive.is_empty()) error = send_to(peer, peer);
    }
    if (error == 0 && !receive.is_empty()) error = receive_from(arguments.root, 0);
    return end_group(error);
  }

  [[nodiscard]] int send_to(int peer, int block) const {
    return ccl.send(send.at(block), send.bytes(block), ccl_bytes, peer, handle, stream);
  }
  [[nodiscard]] int receive_from(int peer, int block) const {
    return ccl.recv(receive.at(block), receive.bytes(block), ccl_bytes, peer, handle, stream);
  }

  /// A group must be ended in any case.
  static int end_group(int error) {
    const int end_error = ccl.group_end();
    return error != 0 ? error : end_error;
  }
};

}  // namespace

int issue(const Arguments& arguments, const Operands& operands, const Signature& signature, char* send_copy,
          char* receive_copy, const CclCommunicator& communicator) {
  const Issue call{arguments,
                   {operands.send, send_copy},
                   {operands.receive, receive_copy},
                   static_cast<int>(signature.type),
                   static_cast<int>(signature.reduction),
                   communicator.rank(),
                   communicator.ranks(),
                   communicator.handle(),
                   communicator.stream()};
  switch (base_of(arguments.function)) {
    case Function::allreduce:
      return ccl.all_reduce(call.send.at(0), call.receive.at(0), operands.send.elements(0), call.type, call.reduction,
                            call.handle, call.stream);
    case Function::reduce:
      return call.reduce();
    case Function::reduce_scatter:
    case Function::reduce_scatter_block:
      return call.reduce_scatter();
    case Function::bcast:
      return call.broadcast();
    case Function::allgather:
    case Function::allgatherv:
      return call.gather_to_all();
    case Function::alltoall:
    case Function::alltoallv:
      return call.exchange();
    case Function::gather:
      return call.gather();
    default:
      return call.scatter();
  }
}

}  // namespace commlens::reroute
