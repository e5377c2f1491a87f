// The gather-scatter of spectral elements: nodes with one id are combined, over elements and over ranks, and every copy
// is given the result.
//
// Every copy of an id gets the same bits, on all ranks: what a rank contributes is combined in the order of its nodes,
// what the ranks contribute in an order that is the same for all. Two methods do not promise it for sums and products
// that are rounded: the crystal router, unless the number of ranks is a power of two, and all-reduce, where MPI's
// standard recommends it only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/data_type.hpp"
#include "device/device.hpp"
#include "gather_scatter/sharing.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens::gather_scatter {

enum class Combine { add, multiply, minimum, maximum };

/// How values travel between ranks.
///   pairwise        a message to each rank that shares nodes, packed and unpacked where the data lies
///   neighbor        the same messages in one call on a graph communicator (MPI_Neighbor_alltoallv)
///   crystal_router  ceil(log2 P) stages that halve the range of ranks, combined on the way (Fox et al., Solving
///                   Problems on Concurrent Processors, 1988)
///   all_reduce      one reduction of a vector of all shared ids
///   host            values are combined on the host, which sends them with the fastest of the above; for data on a GPU
enum class Method { pairwise, neighbor, crystal_router, all_reduce, host };
inline constexpr Method all_methods[] = {Method::pairwise, Method::neighbor, Method::crystal_router, Method::all_reduce,
                                         Method::host};
std::string_view name(Method method);  ///< "pairwise", "neighbor", "crystal-router", "all-reduce", "host"

inline constexpr std::size_t longest_all_reduce = 100'000;  ///< shared ids, from which on it is not tried (gslib's)

struct Kind {
  DataType type = DataType::f64;  ///< of the data: f64 or f32
  DataType wire = DataType::f64;  ///< of what travels: `type`, or f32 for data of f64, rounded on all ranks alike
  std::size_t fields = 1;         ///< field f begins f * nodes elements behind the first
  Combine combine = Combine::add;
};

/// What it is made of and from.
struct Surroundings {
  const transport::Communicator& communicator;
  transport::Transport& transport;
  device::Device& device;
  device::Memory memory = device::Memory::host;
  device::Stream& stream;                                             ///< for the set-up
  std::function<device::Buffer(std::size_t bytes)> allocate;          ///< in `memory`
  std::function<device::Buffer(std::size_t bytes)> allocate_staging;  ///< in the host's staging memory
};

/// Lists of nodes, in the memory in which the data lies: one for all methods. `sharing` must outlive it.
class Lists;
std::shared_ptr<const Lists> make_lists(const Sharing& sharing, const Surroundings& surroundings);

/// Is told of the steps of a gather-scatter, of which all but `local` may come several times.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(const char* part, device::Stream& stream) = 0;
  virtual void end(device::Stream& stream) = 0;
};

namespace part {
inline constexpr const char* pack = "pack";
inline constexpr const char* exchange = "exchange";
inline constexpr const char* local = "local";
inline constexpr const char* unpack = "unpack";
}  // namespace part

class GatherScatter {
 public:
  virtual ~GatherScatter() = default;

  /// From now on; nullptr: nobody is told.
  void watch(Observer* observer) { observer_ = observer; }

  /// Combines `data` (fields * nodes elements) and gives every copy the result.
  void apply(void* data, device::Stream& stream) {
    start(data, stream);
    local(data, stream);
    finish(data, stream);
  }

  /// In three steps, so that other work can be added to the stream in between: packs the shared nodes and sends them;
  /// combines nodes that are shared inside the rank only; and unpacks what has come. Between start() and finish()
  /// shared nodes are not to be touched.
  virtual void start(void* data, device::Stream& stream) = 0;
  virtual void local(void* data, device::Stream& stream) = 0;
  virtual void finish(void* data, device::Stream& stream) = 0;

  /// The messages alone, of whatever lies in the buffers: nothing is packed and nothing unpacked.
  virtual void exchange(device::Stream& stream) = 0;

  [[nodiscard]] virtual std::size_t buffer_bytes() const = 0;  ///< of messages, both directions
  [[nodiscard]] virtual std::size_t list_bytes() const = 0;    ///< of lists of nodes: what gslib calls the handle

 protected:
  /// Does `work`, which adds to `stream`, as a step.
  template <class Work>
  void step(const char* part, device::Stream& stream, Work work) {
    if (observer_ != nullptr) observer_->begin(part, stream);
    work();
    if (observer_ != nullptr) observer_->end(stream);
  }

 private:
  Observer* observer_ = nullptr;
};

/// Why the method cannot be had here, in words; empty if it can. The same on all ranks.
std::string unfit(Method method, const Sharing& sharing, const Kind& kind, const Surroundings& surroundings);

/// Collective, also to destroy. The transport, the device and the sharing must outlive it, and it the work that it has
/// added to a stream.
std::unique_ptr<GatherScatter> make(Method method, std::shared_ptr<const Lists> lists, const Kind& kind,
                                    const Surroundings& surroundings);

/// The most that lists and one of each method together ask of allocate() and of allocate_staging(), from the largest
/// counts of a Sharing over the ranks, or bounds of them.
struct Counts {
  std::size_t grouped_nodes = 0;  ///< in groups, local and shared
  std::size_t shared_nodes = 0;   ///< in shared groups
  std::size_t sent = 0;           ///< as Sharing::sent()
  int ranks = 1;
};
struct Bytes {
  double buffers = 0;
  double staging = 0;
};
Bytes bytes(const Counts& counts, const Kind& kind, bool on_gpu);

}  // namespace commlens::gather_scatter
