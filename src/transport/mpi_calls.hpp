// MPI calls with 64-bit counts, for the transports `mpi` and `staged`.
//
// MPI-3 counts are ints, and Open MPI 5 has no large-count functions of MPI-4, so a long message is sent as several of
// at most `longest_message` bytes, split in the same way on both sides. An empty message is one message.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "transport/activity.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_library.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

/// The wait of transports that do not know streams.
inline const Call stream_wait_call{"waiting for a stream"};

/// For all that was added to the stream. A small message takes as long as a few such waits: one for nothing is saved.
inline void wait_for_stream(device::Stream& stream) {
  if (stream.idle()) return;
  const InCall call(stream_wait_call);
  stream.wait();
}

}  // namespace commlens::transport

namespace commlens::transport::mpi_calls {

inline constexpr std::size_t longest_message = std::size_t{1} << 30;

/// Calls `piece(offset, count)` for pieces of at most `longest` that add up to `total`; once, with count 0, if that is
/// 0.
template <class Function>
void in_pieces(std::size_t total, std::size_t longest, Function piece) {
  if (total <= longest) return piece(0, static_cast<int>(total));  // as is usual
  std::size_t offset = 0;
  do {
    const std::size_t count = std::min(longest, total - offset);
    piece(offset, static_cast<int>(count));
    offset += count;
  } while (offset < total);
}

/// The same bytes in messages of at most `longest`. An empty message stays.
std::vector<Message> cut(const std::vector<Message>& messages, std::size_t longest);

/// The end of the last piece.
inline std::size_t extent(std::span<const Piece> pieces) {
  std::size_t end = 0;
  for (const Piece& piece : pieces) end = std::max(end, piece.offset + piece.bytes);
  return end;
}

void send(const Communicator& communicator, const void* data, std::size_t bytes, int to);
void receive(const Communicator& communicator, void* data, std::size_t bytes, int from);
void allreduce(const Communicator& communicator, const void* input, void* output, std::size_t count, DataType type,
               Reduction reduction = Reduction::sum);
void alltoallv(const Communicator& communicator, const void* input, std::span<const Piece> sends, void* output,
               std::span<const Piece> receives);
void barrier(const Communicator& communicator);
/// The same for a long wait: ranks sleep in it, and leave their cores to those for whom they wait.
void patient_barrier(const Communicator& communicator);

/// The type of messages in blocks; contiguous ones are counted in MPI_BYTE.
class MessageType {
 public:
  /// Of a message with so many bytes of data.
  MessageType(const Blocks& blocks, std::size_t bytes);
  MessageType(MessageType&&) = delete;
  ~MessageType();

  [[nodiscard]] MPI_Datatype handle() const { return handle_; }
  [[nodiscard]] int count(std::size_t bytes) const { return handle_ == MPI_BYTE ? static_cast<int>(bytes) : 1; }

 private:
  MPI_Datatype handle_ = MPI_BYTE;
};

/// Why the MPI library has no such messages; empty if it has.
std::string form_unsupported(const MessageForm& form);

/// A set of messages, by default non-blocking: start() posts all receives and then all sends, finish() waits for all of
/// them. Messages in blocks are all of one length. start() calls MPI_Pready for one partition after the other.
class Messages {
 public:
  Messages(const Communicator& communicator, const std::vector<Message>& sends, const std::vector<Message>& receives,
           const MessageForm& form = {});
  Messages(Messages&&) = delete;
  ~Messages();

  void start();
  void finish();

  // The same in steps, for callers that do other work in between. `first` is the index of a message; none may exceed
  // longest_message.
  void post_receives();
  void post_sends(std::size_t first, std::size_t count);
  void finish_receives(std::size_t first, std::size_t count);
  void finish_sends();

 private:
  void finish(std::size_t first, std::size_t count);  ///< of all requests
  void communicate();
  void prepare();
  void prepare_partitions();
  void make_ready();

  const Communicator& communicator_;
  CallMode mode_;
  int partitions_;
  std::vector<Message> sends_;  ///< in pieces of at most longest_message bytes, unless their form keeps them whole
  std::vector<Message> receives_;
  MessageType type_;
  std::vector<MPI_Request> requests_;
};

/// Whether there are such as below: SMPI ends the job in MPI_Dist_graph_create_adjacent.
inline bool has_neighbor_messages() { return !mpi_is_simulated(); }

/// The same in one MPI_Neighbor_alltoallv on a graph communicator, all of it in finish(). Collective to make and to
/// destroy. Throws Error for messages that are further apart than MPI's int displacements can express.
class NeighborMessages {
 public:
  NeighborMessages(const Communicator& communicator, const std::vector<Message>& sends,
                   const std::vector<Message>& receives);
  ~NeighborMessages();

  void start() {}
  void finish();

 private:
  struct Side;  ///< the arguments for the messages of one direction

  std::unique_ptr<Side> sends_;
  std::unique_ptr<Side> receives_;
  Communicator graph_;
};

}  // namespace commlens::transport::mpi_calls
