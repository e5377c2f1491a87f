#include "transport/mpi_calls.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "transport/mpi_types.hpp"

namespace commlens::transport::mpi_calls {

namespace {

const Call send_call{"MPI_Send"};
const Call receive_call{"MPI_Recv"};
const Call allreduce_call{"MPI_Allreduce"};
const Call alltoallv_call{"MPI_Alltoallv"};
const Call barrier_call{"MPI_Barrier"};
const Call irecv_call{"MPI_Irecv"};
const Call isend_call{"MPI_Isend"};
const Call waitall_call{"MPI_Waitall"};
const Call startall_call{"MPI_Startall"};
#if COMMLENS_MPI_HAS_PARTITIONED_MESSAGES
const Call pready_call{"MPI_Pready"};
#endif
const Call neighbor_alltoallv_call{"MPI_Neighbor_alltoallv"};

constexpr int tag = 0;

std::byte* at(void* data, std::size_t offset) { return static_cast<std::byte*>(data) + offset; }
const std::byte* at(const void* data, std::size_t offset) { return static_cast<const std::byte*>(data) + offset; }

/// Messages in blocks or with partitions stay whole.
std::vector<Message> cut_in_form(const std::vector<Message>& messages, const MessageForm& form) {
  return form.blocks.bytes > 0 || form.partitions > 0 ? messages : cut(messages, longest_message);
}

std::size_t longest(const std::vector<Message>& sends, const std::vector<Message>& receives) {
  std::size_t bytes = 0;
  for (const auto* messages : {&sends, &receives}) {
    for (const Message& message : *messages) bytes = std::max(bytes, message.bytes);
  }
  return bytes;
}

std::byte* lowest_address(const std::vector<Message>& messages) {
  void* lowest = messages.empty() ? nullptr : messages.front().data;
  for (const Message& message : messages) lowest = std::min(lowest, message.data, std::less<>());
  return static_cast<std::byte*>(lowest);
}

std::vector<Piece> pieces_behind(const std::byte* base, const std::vector<Message>& messages) {
  std::vector<Piece> pieces;
  for (const Message& message : messages) {
    const auto offset = static_cast<std::byte*>(message.data) - base;
    pieces.push_back({static_cast<std::size_t>(offset), message.bytes});
  }
  return pieces;
}

std::vector<int> peers_of(const std::vector<Message>& messages) {
  std::vector<int> peers;
  for (const Message& message : messages) peers.push_back(message.peer);
  return peers;
}

/// Without reordering of ranks, which would need the data on other ranks.
Communicator graph_of(const Communicator& communicator, const std::vector<Message>& sends,
                      const std::vector<Message>& receives) {
  const std::vector<int> from = peers_of(receives);
  const std::vector<int> to = peers_of(sends);
  MPI_Comm graph = MPI_COMM_NULL;
  CALL_MPI(MPI_Dist_graph_create_adjacent, communicator.handle(), static_cast<int>(from.size()), from.data(),
           MPI_UNWEIGHTED, static_cast<int>(to.size()), to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  return Communicator::owning(graph, communicator.rank(), communicator.size());
}

}  // namespace

std::vector<Message> cut(const std::vector<Message>& messages, std::size_t longest) {
  std::vector<Message> pieces;
  for (const Message& message : messages) {
    in_pieces(message.bytes, longest, [&](std::size_t offset, int count) {
      pieces.push_back({message.peer, at(message.data, offset), static_cast<std::size_t>(count)});
    });
  }
  return pieces;
}

void send(const Communicator& communicator, const void* data, std::size_t bytes, int to) {
  in_pieces(bytes, longest_message, [&](std::size_t offset, int count) {
    const InCall call(send_call);
    CALL_MPI(MPI_Send, at(data, offset), count, MPI_BYTE, to, tag, communicator.handle());
  });
}

void receive(const Communicator& communicator, void* data, std::size_t bytes, int from) {
  in_pieces(bytes, longest_message, [&](std::size_t offset, int count) {
    const InCall call(receive_call);
    CALL_MPI(MPI_Recv, at(data, offset), count, MPI_BYTE, from, tag, communicator.handle(), MPI_STATUS_IGNORE);
  });
}

void allreduce(const Communicator& communicator, const void* input, void* output, std::size_t count, DataType type,
               Reduction reduction) {
  const std::size_t size = size_of(type);
  MPI_Op operation = mpi_operation(reduction, type);
  in_pieces(count, longest_message / size, [&](std::size_t first, int elements) {
    const InCall call(allreduce_call);
    const void* source = input == output ? MPI_IN_PLACE : at(input, first * size);
    CALL_MPI(MPI_Allreduce, source, at(output, first * size), elements, mpi_type(type), operation,
             communicator.handle());
  });
}

void alltoallv(const Communicator& communicator, const void* input, std::span<const Piece> sends, void* output,
               std::span<const Piece> receives) {
  const Layout out(sends, "MPI_Alltoallv");
  const Layout in(receives, "MPI_Alltoallv");
  const InCall call(alltoallv_call);
  CALL_MPI(MPI_Alltoallv, input, out.counts(), out.displacements(), out.type(), output, in.counts(), in.displacements(),
           in.type(), communicator.handle());
}

void barrier(const Communicator& communicator) {
  const InCall call(barrier_call);
  CALL_MPI(MPI_Barrier, communicator.handle());
}

void patient_barrier(const Communicator& communicator) {
  if (mpi_is_simulated()) return barrier(communicator);  // who waits needs no core
  const InCall call(barrier_call);
  MPI_Request request = MPI_REQUEST_NULL;
  CALL_MPI(MPI_Ibarrier, communicator.handle(), &request);
  int done = 0;
  while (true) {
    CALL_MPI(MPI_Test, &request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

MessageType::MessageType(const Blocks& blocks, std::size_t bytes) {
  if (blocks.bytes == 0) return;
  const auto count = static_cast<int>(bytes / blocks.bytes);
  const auto length = static_cast<int>(blocks.bytes);
  if (blocks.offsets.empty()) {
    CALL_MPI(MPI_Type_create_hvector, count, length, static_cast<MPI_Aint>(blocks.stride), MPI_BYTE, &handle_);
  } else {
    const std::vector<int> lengths(blocks.offsets.size(), length);
    const std::vector<MPI_Aint> offsets(blocks.offsets.begin(), blocks.offsets.end());
    CALL_MPI(MPI_Type_create_hindexed, count, lengths.data(), offsets.data(), MPI_BYTE, &handle_);
  }
  CALL_MPI(MPI_Type_commit, &handle_);
}

MessageType::~MessageType() {
  if (handle_ != MPI_BYTE) MPI_Type_free(&handle_);
}

Messages::Messages(const Communicator& communicator, const std::vector<Message>& sends,
                   const std::vector<Message>& receives, const MessageForm& form)
    : communicator_(communicator),
      mode_(form.call),
      partitions_(form.partitions),
      sends_(cut_in_form(sends, form)),
      receives_(cut_in_form(receives, form)),
      type_(form.blocks, longest(sends, receives)) {
  if (mode_ == CallMode::blocking) return;
  requests_.resize(sends_.size() + receives_.size(), MPI_REQUEST_NULL);
  if (mode_ != CallMode::persistent) return;
  partitions_ > 0 ? prepare_partitions() : prepare();
}

Messages::~Messages() {
  if (mode_ != CallMode::persistent) return;
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

void Messages::prepare() {
  MPI_Request* request = requests_.data();
  for (const Message& message : receives_) {
    CALL_MPI(MPI_Recv_init, message.data, type_.count(message.bytes), type_.handle(), message.peer, tag,
             communicator_.handle(), request++);
  }
  for (const Message& message : sends_) {
    CALL_MPI(MPI_Send_init, message.data, type_.count(message.bytes), type_.handle(), message.peer, tag,
             communicator_.handle(), request++);
  }
}

#if COMMLENS_MPI_HAS_PARTITIONED_MESSAGES
std::string form_unsupported(const MessageForm& /*form*/) { return {}; }

void Messages::prepare_partitions() {
  MPI_Request* request = requests_.data();
  const auto count = [this](const Message& message) { return static_cast<MPI_Count>(message.bytes) / partitions_; };
  for (const Message& message : receives_) {
    CALL_MPI(MPI_Precv_init, message.data, partitions_, count(message), MPI_BYTE, message.peer, tag,
             communicator_.handle(), MPI_INFO_NULL, request++);
  }
  for (const Message& message : sends_) {
    CALL_MPI(MPI_Psend_init, message.data, partitions_, count(message), MPI_BYTE, message.peer, tag,
             communicator_.handle(), MPI_INFO_NULL, request++);
  }
}

void Messages::make_ready() {
  const InCall call(pready_call, sends_.size() * static_cast<std::size_t>(partitions_));
  for (std::size_t send = receives_.size(); send < requests_.size(); ++send) {
    for (int partition = 0; partition < partitions_; ++partition) CALL_MPI(MPI_Pready, partition, requests_[send]);
  }
}
#else
std::string form_unsupported(const MessageForm& form) {
  return form.partitions > 0 ? "this MPI library has no partitioned messages (MPI 4): leave --partitions out" : "";
}
void Messages::prepare_partitions() {}
void Messages::make_ready() {}
#endif

void Messages::start() {
  if (mode_ == CallMode::blocking) return communicate();
  if (mode_ == CallMode::nonblocking) {
    post_receives();
    return post_sends(0, sends_.size());
  }
  if (requests_.empty()) return;  // which Open MPI takes for a mistake
  {
    const InCall call(startall_call);
    CALL_MPI(MPI_Startall, static_cast<int>(requests_.size()), requests_.data());
  }
  if (partitions_ > 0) make_ready();
}

void Messages::communicate() {
  for (const Message& message : sends_) {
    const InCall call(send_call);
    CALL_MPI(MPI_Send, message.data, type_.count(message.bytes), type_.handle(), message.peer, tag,
             communicator_.handle());
  }
  for (const Message& message : receives_) {
    const InCall call(receive_call);
    CALL_MPI(MPI_Recv, message.data, type_.count(message.bytes), type_.handle(), message.peer, tag,
             communicator_.handle(), MPI_STATUS_IGNORE);
  }
}

void Messages::post_receives() {
  const InCall call(irecv_call, receives_.size());
  MPI_Request* request = requests_.data();
  for (const Message& message : receives_) {
    CALL_MPI(MPI_Irecv, message.data, type_.count(message.bytes), type_.handle(), message.peer, tag,
             communicator_.handle(), request++);
  }
}

void Messages::post_sends(std::size_t first, std::size_t count) {
  const InCall call(isend_call, count);
  MPI_Request* request = requests_.data() + receives_.size() + first;
  for (const Message& message : std::span(sends_).subspan(first, count)) {
    CALL_MPI(MPI_Isend, message.data, type_.count(message.bytes), type_.handle(), message.peer, tag,
             communicator_.handle(), request++);
  }
}

void Messages::finish() {
  if (mode_ != CallMode::blocking) finish(0, requests_.size());
}
void Messages::finish_receives(std::size_t first, std::size_t count) { finish(first, count); }
void Messages::finish_sends() { finish(receives_.size(), sends_.size()); }

void Messages::finish(std::size_t first, std::size_t count) {
  const InCall call(waitall_call);
  CALL_MPI(MPI_Waitall, static_cast<int>(count), requests_.data() + first, MPI_STATUSES_IGNORE);
}

struct NeighborMessages::Side {
  explicit Side(const std::vector<Message>& messages)
      : base(lowest_address(messages)), layout(pieces_behind(base, messages), "MPI_Neighbor_alltoallv") {}

  std::byte* base;
  Layout layout;
};

NeighborMessages::NeighborMessages(const Communicator& communicator, const std::vector<Message>& sends,
                                   const std::vector<Message>& receives)
    : sends_(std::make_unique<Side>(sends)),
      receives_(std::make_unique<Side>(receives)),
      graph_(graph_of(communicator, sends, receives)) {}

NeighborMessages::~NeighborMessages() = default;

void NeighborMessages::finish() {
  const Layout& out = sends_->layout;
  const Layout& in = receives_->layout;
  const InCall call(neighbor_alltoallv_call);
  CALL_MPI(MPI_Neighbor_alltoallv, sends_->base, out.counts(), out.displacements(), out.type(), receives_->base,
           in.counts(), in.displacements(), in.type(), graph_.handle());
}

}  // namespace commlens::transport::mpi_calls
