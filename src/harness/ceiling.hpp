// What the hardware gives for the bytes of an operation: the same bytes copied by the rank itself, in the same run, or
// between nodes sent through a TCP connection, or at the nominal rate of the network; and for its arithmetic: a matrix
// product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/stopwatch.hpp"
#include "device/device.hpp"
#include "harness/measurement.hpp"
#include "harness/tcp_stream.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// Two buffers and a stream that copies from one to the other.
struct Copier {
  device::Buffer source;
  device::Buffer destination;
  std::unique_ptr<device::Stream> stream;

  /// Pages that were never written are not copied like others.
  void touch() const {
    stream->fill(source.data(), 1, source.bytes());
    stream->fill(destination.data(), 2, destination.bytes());
    (void)time(1, source.bytes());
  }

  /// Seconds of each of `count` copies, each in pieces of at most `piece` bytes.
  [[nodiscard]] double time(std::size_t count, std::size_t piece) const {
    const std::size_t bytes = source.bytes();
    const Stopwatch stopwatch;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t offset = 0; offset < bytes; offset += piece) {
        stream->copy(destination.as<std::byte>() + offset, source.as<std::byte>() + offset,
                     std::min(piece, bytes - offset));
      }
    }
    stream->wait();
    return stopwatch.seconds() / static_cast<double>(count);
  }
};

class Ceilings {
 public:
  /// Of copies.
  struct Outcome {
    std::optional<measure::Ceiling> ceiling;
    std::string reason;  ///< why there is none
  };

  /// `placement` is of all ranks, and outlives this. `streams`: how nodes connect to each other.
  Ceilings(const transport::Communicator& communicator, device::Device& device,
           const std::vector<measure::Placement>& placement, TcpStream::Settings streams = {});

  /// Collective, with equal bytes on all ranks. `mine` and `theirs` are the memories copied from and to. Nothing where
  /// there is no such copy: a GPU that this process does not see, nodes between which there is no connection. Measured
  /// once for each set of arguments. The same on all ranks.
  Outcome measure(const CopyCeiling& ceiling, device::Memory mine, device::Memory theirs);
  /// Collective, with the same shape on all ranks. `blas` multiplies in `memory`, where the product's matrices are.
  /// Nothing where a rank has no room for a square product. Measured once for each shape.
  std::optional<measure::Ceiling> measure(const GemmCeiling& ceiling, device::Blas& blas, device::Memory memory);
  /// Collective: each of the calls by itself, on the stream.
  [[nodiscard]] measure::Ceiling measure(const CallCeiling& ceiling, device::Stream& stream) const;

 private:
  struct Copy {
    std::string name;
    std::string reason;  ///< why there is no such copy; empty if there is
    bool to_another_node = false;
    device::Device* destination = nullptr;
    device::Memory from = device::Memory::host;
    device::Memory to = device::Memory::host;
  };

  /// The connections of a set of peers, and what large messages on them have needed.
  struct Stream {
    std::unique_ptr<TcpStream> connections;
    std::optional<double> seconds_per_byte;
  };

  Copy plan(const CopyCeiling& ceiling, device::Memory mine, device::Memory theirs);
  device::Device* peer_device(const std::string& uuid);
  Outcome measure_copy(const CopyCeiling& ceiling, const Copy& copy);
  /// Collective. The buffers of the ranks that copy; nothing where one of them has no room for them.
  std::optional<Copier> copier(bool copies, const Copy& copy, std::size_t bytes);
  /// Collective, of copies of `wanted` bytes. Nothing where a rank has no room for them.
  std::optional<double> seconds_of(bool copies, std::size_t wanted, const Copy& copy);

  /// Collective: where some of the peers are on other nodes. The others copy at the same time.
  Outcome between_nodes(const CopyCeiling& ceiling, const Copy& copy);
  Outcome link_rate(const CopyCeiling& ceiling, const Copy& copy, const std::vector<int>& peers);
  Outcome tcp_stream(const CopyCeiling& ceiling, const Copy& copy, const std::vector<int>& peers);
  /// Collective. Of a message, with copies of as many bytes at the same time.
  std::optional<double> seconds_of_stream(TcpStream& stream, bool copies, std::size_t bytes, const Copy& copy);

  /// Collective. The seconds of a product, back to back.
  double seconds_of(const device::Gemm& gemm, device::Blas& blas, device::Stream& stream);
  /// Ranks that share the memory with this one.
  [[nodiscard]] std::size_t sharers(device::Memory memory) const;
  /// Collective. The largest square product that takes no longer than need be and for which all ranks have room.
  std::optional<measure::Ceiling> square_product(const device::Gemm& like, device::Blas& blas, device::Memory memory);

  const transport::Communicator& communicator_;
  device::Device& device_;
  const std::vector<measure::Placement>& placement_;  ///< by rank
  TcpStream::Settings stream_settings_;
  std::vector<std::string> hosts_;
  std::vector<std::string> gpus_;  ///< uuids by rank
  std::map<std::string, std::unique_ptr<device::Device>> peers_;
  std::map<std::vector<std::string>, Outcome> known_;  ///< by the bytes, and what each rank does with them
  std::map<std::vector<int>, Stream> streams_;         ///< by the peers of all ranks, -1: none
  /// By type, m, n and k, all 0 for a square product, and whether it is tuned.
  std::map<std::tuple<DataType, std::size_t, std::size_t, std::size_t, bool>, std::optional<measure::Ceiling>>
      known_products_;
};

}  // namespace commlens
