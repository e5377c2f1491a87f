// Who carries bytes between ranks. A benchmark is written against this interface and runs over every transport.
//
// Stream order. Every operation takes a stream and is ordered on it: it sees all work that was added to the stream
// before, and work added later sees its result. Some transports have finished when the call returns, some have only
// queued; a caller who needs the result on the host waits for the stream.
//
// Buffers are plain addresses with a length in bytes, in any memory that the transport was found fit for. They belong
// to the caller and stay untouched by him until the stream has been waited for. Counts are 64-bit, and 0 is allowed
// everywhere. Every operation throws Error with the failing call and the library's message.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/data_type.hpp"
#include "device/device.hpp"
#include "transport/communicator.hpp"

namespace commlens::transport {

/// One message of an exchange. Messages between two ranks match in the order in which both list them.
struct Message {
  int peer = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// A piece of an alltoallv: where it starts and how long it is, in bytes.
struct Piece {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// How an allreduce() combines values.
enum class Reduction { sum, product, minimum, maximum };

/// A fixed set of messages that is sent again and again: what a halo exchange or a window of messages is. Between
/// start() and finish() the caller may add other work to the stream, to overlap with the messages; it must not touch
/// their buffers.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void start(device::Stream& stream) = 0;
  virtual void finish(device::Stream& stream) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual void send(const void* data, std::size_t bytes, int to, device::Stream& stream) = 0;
  virtual void receive(void* data, std::size_t bytes, int from, device::Stream& stream) = 0;
  /// Prepared once; must not outlive the transport. Receives are posted before sends.
  virtual std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) = 0;
  /// The same messages as one call on a graph of the ranks that is made here, once: what a library can know beforehand
  /// about the pattern. They travel in finish(). Collective, also to destroy; at most one message a peer and direction.
  /// nullptr where knows_neighbors() is false.
  virtual std::unique_ptr<Exchange> neighbor_exchange(const std::vector<Message>& /*sends*/,
                                                      const std::vector<Message>& /*receives*/) {
    return nullptr;
  }
  /// The same on all ranks.
  [[nodiscard]] virtual bool knows_neighbors() const { return false; }
  /// Whether allreduce() knows the type. The same on all ranks.
  [[nodiscard]] virtual bool sums(DataType /*type*/) const { return true; }
  /// The values of all ranks combined, on all ranks; `input` may equal `output` (in place). Complex numbers are only
  /// summed.
  virtual void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                         Reduction reduction = Reduction::sum) = 0;
  /// Piece r of `input` goes to rank r, and what rank r sends here lands in piece r of `output`.
  virtual void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                         device::Stream& stream) = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root, device::Stream& stream) = 0;
  /// No rank's later work starts before every rank's earlier work on its stream has happened.
  virtual void barrier(device::Stream& stream) = 0;
  /// Whether buffers may also lie in the host's memory where it was made for a GPU's. The same on all ranks.
  [[nodiscard]] virtual bool takes_host_memory() const { return true; }
  /// The same transport between fewer ranks: those of a communicator that was made for it, by their ranks there.
  /// Collective over them. It must not outlive this one. What it costs is what an application pays that makes
  /// sub-communicators. nullptr where divides() is false.
  virtual std::unique_ptr<Transport> among(Communicator /*ranks*/) { return nullptr; }
  /// Whether it can be among fewer ranks. The same on all ranks.
  [[nodiscard]] virtual bool divides() const { return false; }
};

/// What a transport is made of and from.
struct Surroundings {
  const Communicator& communicator;
  device::Device& device;
  device::Memory memory = device::Memory::host;  ///< of this rank's buffers; other ranks' may differ
  std::string gpu_aware_mpi_off;  ///< a reason not to hand GPU memory to MPI (from the probe); empty: none
};

/// How a transport is known to the program. A new one is one new file, with one of these in it.
struct Kind {
  std::string name;
  std::string description;
  /// Why it cannot run here, in words for a user; empty if it can. Collective; may differ by rank.
  std::function<std::string(const Surroundings&)> unfit;
  std::function<std::unique_ptr<Transport>(const Surroundings&)> make;  ///< collective
  /// Bytes of staging_memory() that it needs on a rank whose largest operation moves `bytes`.
  std::function<double(double bytes)> staging = [](double) { return 0.0; };
  std::function<std::vector<std::pair<std::string, std::string>>()> versions = [] {
    return std::vector<std::pair<std::string, std::string>>{};
  };
};

/// All that this build has, by the order in which a table shows them: mpi, staged, ccl.
const std::vector<Kind>& kinds();

}  // namespace commlens::transport
