// A transport: the communication path under test. A benchmark is written against this interface and runs over every
// transport.
//
// Stream order: every operation takes a stream and is ordered on it. It sees all work that was added to the stream
// before, and work added later sees its result. Some transports have finished when the call returns, others have only
// queued the operation: to use the result on the host, wait for the stream.
//
// Buffers are addresses with a length in bytes, in the memory that the transport was made for. The caller owns them,
// and must not access them before the stream has been waited for. Counts are 64-bit, and 0 is allowed everywhere. A
// failing operation throws Error with the call and the library's message.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "device/data_type.hpp"
#include "device/device.hpp"
#include "transport/collectives.hpp"
#include "transport/communicator.hpp"
#include "transport/window.hpp"

namespace commlens::transport {

/// One message of an exchange. Several messages between two ranks match in the order of their lists.
struct Message {
  int peer = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Where the bytes of a message are: in blocks of one length, with gaps between them.
struct Blocks {
  std::size_t bytes = 0;             ///< of a block; 0: the message is contiguous
  std::size_t stride = 0;            ///< from a block to the next one (MPI_Type_create_hvector)
  std::vector<std::size_t> offsets;  ///< of the blocks; empty: by the stride (MPI_Type_create_hindexed)
};

/// The calls for messages, and their layout.
struct MessageForm {
  CallMode call = CallMode::nonblocking;
  Blocks blocks;
  int partitions = 0;  ///< of equal length, of persistent messages (MPI 4); 0: messages are not partitioned
};

/// A piece of an alltoallv, in bytes.
struct Piece {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// A fixed set of messages that is sent repeatedly, such as a halo exchange or a window of messages. Between start()
/// and finish() other work may be added to the stream, which overlaps with the messages and must not access their
/// buffers.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void start(device::Stream& stream) = 0;
  virtual void finish(device::Stream& stream) = 0;
  /// Both, where there is nothing to overlap with the messages.
  virtual void run(device::Stream& stream) {
    start(stream);
    finish(stream);
  }
};

/// An operation that nothing overlaps with.
std::unique_ptr<Exchange> undivided(std::function<void(device::Stream& stream)> operation);

class Transport {
 public:
  virtual ~Transport() = default;

  virtual void send(const void* data, std::size_t bytes, int to, device::Stream& stream) = 0;
  virtual void receive(void* data, std::size_t bytes, int from, device::Stream& stream) = 0;
  /// Must not outlive the transport. Receives are posted before sends.
  virtual std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) = 0;
  /// Why exchange_in_form() cannot do this; empty if it can. The same on all ranks.
  [[nodiscard]] virtual std::string form_unsupported(const MessageForm& form) const;
  /// The same with messages in another form. Blocking calls are made by start(): all sends, then all receives. nullptr
  /// if it is form_unsupported().
  virtual std::unique_ptr<Exchange> exchange_in_form(const std::vector<Message>& /*sends*/,
                                                     const std::vector<Message>& /*receives*/,
                                                     const MessageForm& /*form*/) {
    return nullptr;
  }
  /// The same messages in one call on a graph communicator that is made here, so that a library knows the pattern
  /// beforehand. All communication is in finish(). Collective, also to destroy; at most one message per peer and
  /// direction. nullptr if has_neighbor_exchange() is false.
  virtual std::unique_ptr<Exchange> neighbor_exchange(const std::vector<Message>& /*sends*/,
                                                      const std::vector<Message>& /*receives*/) {
    return nullptr;
  }
  /// The same on all ranks.
  [[nodiscard]] virtual bool has_neighbor_exchange() const { return false; }
  /// Whether allreduce() supports the type. The same on all ranks.
  [[nodiscard]] virtual bool sums(DataType /*type*/) const { return true; }
  /// Combines the values of all ranks, on all ranks. `input` may equal `output` (in place). For complex numbers only
  /// the sum is supported.
  virtual void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                         Reduction reduction = Reduction::sum) = 0;
  /// Sends piece r of `input` to rank r, and receives piece r of `output` from it.
  virtual void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                         device::Stream& stream) = 0;
  /// Why collective() cannot do this; empty if it can. The same on all ranks. A transport that does not say has
  /// allreduce() and barrier().
  [[nodiscard]] virtual std::string unsupported(const Collective& collective, CallMode mode) const;
  /// Whether the library reduces it by a function of ours (MPI_Op_create), as applications do with types that it does
  /// not know.
  [[nodiscard]] virtual bool reduces_by_function(const Collective& /*collective*/) const { return false; }
  /// Where input and output of an operation in place begin in their buffer.
  [[nodiscard]] virtual InPlaceOffsets in_place(const Collective& collective) const {
    return collective.description().in_place(collective.shape);
  }
  /// An operation to be repeated, on the same arrays. Collective, also to destroy; must not outlive the transport.
  /// nullptr if it is unsupported().
  virtual std::unique_ptr<Exchange> collective(const Collective& collective, CallMode mode);
  /// Later work on the stream starts after the earlier work on the streams of all ranks is complete.
  virtual void barrier(device::Stream& stream) = 0;
  /// Sets a function that operations call while they wait for other ranks in the caller's thread, so that MPI's
  /// messages make progress. Transports that are split from this one afterwards have it, too. Without effect where
  /// operations are only queued, or are MPI's.
  virtual void while_waiting(const std::function<void()>& /*work*/) {}
  /// Whether operations are only queued: the host never waits, so that they can be part of a device::Graph. The same on
  /// all ranks.
  [[nodiscard]] virtual bool enqueues() const { return false; }
  /// Whether buffers in any host memory are supported, too, by a transport made for other memory. The same on all
  /// ranks.
  [[nodiscard]] virtual bool takes_host_memory() const { return true; }
  /// The kinds of windows that it has over such memory; none: it has no one-sided operations. The same on all ranks.
  [[nodiscard]] virtual std::vector<WindowCreation> windows(device::Memory /*memory*/) const { return {}; }
  /// A window over `bytes` at `data` of each rank, or of memory that the window has made; of a kind that it has.
  /// Collective. It must not outlive the transport and `data`.
  virtual std::unique_ptr<Window> window(WindowCreation /*creation*/, void* /*data*/, std::size_t /*bytes*/) {
    return nullptr;
  }
  /// Memory for all buffers that this rank will pass, where the transport must make it; empty where any memory of its
  /// kind will do. Collective, once. It must not outlive the transport.
  [[nodiscard]] virtual device::Buffer allocate(std::size_t /*bytes*/) { return {}; }
  /// The same transport for a sub-communicator. Collective over its ranks. It must not outlive this one. It costs what
  /// applications pay that make sub-communicators. nullptr if can_split() is false.
  virtual std::unique_ptr<Transport> split(Communicator /*sub_communicator*/) { return nullptr; }
  /// The same on all ranks.
  [[nodiscard]] virtual bool can_split() const { return false; }
};

/// What a transport is made from.
struct Setup {
  const Communicator& communicator;
  device::Device& device;
  device::Memory memory = device::Memory::host;  ///< of this rank's buffers; other ranks may have others
  std::string gpu_aware_mpi_off;  ///< why GPU memory must not be passed to MPI (from the probe); empty: it may be
  double buffers = 0;             ///< bytes of this rank's buffers, which Transport::allocate() may be asked for
  bool is_named = true;           ///< whether the user asks for this transport, not for all
};

/// Describes a transport to the program. A new transport is one new file, which registers one of these.
struct Description {
  std::string name;
  std::string description;
  bool built = true;                      ///< false: this build can only report what it lacks
  bool passes_gpu_memory_to_mpi = false;  ///< a probe must show first that MPI takes it
  /// Why it is unsupported here, for the user; empty if it is supported. Collective; ranks may differ.
  std::function<std::string(const Setup&)> unsupported;
  std::function<std::unique_ptr<Transport>(const Setup&)> make;  ///< collective
  /// Bytes of staging memory that it needs on a rank whose largest operation transfers `bytes`.
  std::function<double(double bytes)> staging = [](double) { return 0.0; };
  std::function<std::vector<std::pair<std::string, std::string>>()> versions = [] {
    return std::vector<std::pair<std::string, std::string>>{};
  };
};

/// All that this build has, in the order in which a table shows them: mpi, staged, ccl, peer.
const std::vector<Description>& all();

/// A namespace-scope object of this type registers a transport. `place` is its position in tables: lower comes first.
struct Registration {
  Registration(int place, Description description);
};

/// For what needs a GPU for each rank: which rank has none, or shares one; empty if neither. Collective.
std::string shared_gpu(const Setup& setup, std::string_view who);

}  // namespace commlens::transport
