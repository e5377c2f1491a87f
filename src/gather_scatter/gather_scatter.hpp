// The gather-scatter of spectral elements (gslib's gs): the values of all nodes with one global id are combined, within
// a rank and between ranks, and each of these nodes is set to the result.
//
// All nodes of an id get the same bits, on all ranks: a rank combines its own values in the order of its nodes, and the
// contributions of the ranks are combined in an order that is the same on all of them. Two methods do not guarantee it
// for sums and products that round: the crystal router, unless the number of ranks is a power of two, and all-reduce,
// for which the MPI standard recommends it only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/enum_names.hpp"
#include "device/data_type.hpp"
#include "device/device.hpp"
#include "device/steps.hpp"
#include "gather_scatter/sharing.hpp"
#include "transport/context.hpp"

namespace commlens::gather_scatter {

enum class Combine { add, multiply, minimum, maximum };
ENUM_NAMES(Combine, {add, "add"}, {multiply, "multiply"}, {minimum, "minimum"}, {maximum, "maximum"});

/// How values are exchanged between ranks.
///   pairwise        one message to each rank that shares nodes, packed and unpacked where the data lies
///   neighbor        the same messages in one call on a graph communicator (MPI_Neighbor_alltoallv)
///   crystal_router  ceil(log2 P) stages that halve the range of ranks and combine on the way (Fox et al., Solving
///                   Problems on Concurrent Processors, 1988)
///   all_reduce      one reduction of a vector of all shared ids
///   host            values are copied to the host and exchanged there, by the fastest of the above; for data on a GPU
enum class Method { pairwise, neighbor, crystal_router, all_reduce, host };
ENUM_NAMES(Method, {pairwise, "pairwise"}, {neighbor, "neighbor"}, {crystal_router, "crystal-router"},
           {all_reduce, "all-reduce"}, {host, "host"});

/// all_reduce is supported for fewer shared ids than this (gslib's limit).
inline constexpr std::size_t longest_all_reduce = 100'000;

/// What the values are, and how they are combined.
struct ValueKind {
  DataType type = DataType::f64;           ///< of the data: f64 or f32
  DataType exchange_type = DataType::f64;  ///< in messages: `type`, or f32 for data of f64, rounded on all ranks alike
  std::size_t fields = 1;                  ///< values per node; field f begins f * nodes elements after the first
  Combine combine = Combine::add;
};

/// Lists of nodes, in the memory of the data. All methods use the same ones. `sharing` must outlive them.
class Lists;
std::shared_ptr<const Lists> make_lists(const Sharing& sharing, const Context& context);

/// The parts that the steps of a gather-scatter belong to. All but `local` may have several steps.
namespace part {
inline constexpr const char* pack = "pack";
inline constexpr const char* exchange = "exchange";
inline constexpr const char* local = "local";
inline constexpr const char* unpack = "unpack";
}  // namespace part

class GatherScatter {
 public:
  virtual ~GatherScatter() = default;

  /// From now on `observer` is told of all steps; nullptr: nobody is.
  void observe(StepObserver* observer) { observer_ = observer; }

  /// Combines the values in `data` (fields * nodes elements), in place.
  virtual void apply(void* data, device::Stream& stream) {
    start(data, stream);
    local(data, stream);
    finish(data, stream);
  }

  /// The same in three steps, so that other work can be added to the stream in between. start() packs the shared nodes
  /// and sends them, local() combines nodes that only this rank has, and finish() receives and unpacks. Between start()
  /// and finish() shared nodes must not be accessed.
  virtual void start(void* data, device::Stream& stream) = 0;
  virtual void local(void* data, device::Stream& stream) = 0;
  virtual void finish(void* data, device::Stream& stream) = 0;

  /// The messages alone, with whatever the buffers contain: nothing is packed or unpacked.
  virtual void exchange(device::Stream& stream) = 0;

  /// Whether the host never waits in it (Transport::enqueues).
  [[nodiscard]] virtual bool enqueues() const = 0;
  [[nodiscard]] virtual std::size_t buffer_bytes() const = 0;  ///< of message buffers, both directions
  [[nodiscard]] virtual std::size_t list_bytes() const = 0;    ///< of lists of nodes: gslib's "handle bytes"

 protected:
  /// Does `work`, which adds to `stream`, as a step.
  template <class Work>
  void step(const char* part, device::Stream& stream, Work work) {
    observed(observer_, part, stream, work);
  }

 private:
  StepObserver* observer_ = nullptr;
};

/// Why the method is unsupported here, for the user; empty if it is supported. The same on all ranks.
std::string unsupported(Method method, const Sharing& sharing, const ValueKind& kind, const Context& context);

/// Collective, also to destroy. It must outlive the work that it has added to a stream, and what `context` and `lists`
/// refer to must outlive it.
std::unique_ptr<GatherScatter> make(Method method, std::shared_ptr<const Lists> lists, const ValueKind& kind,
                                    const Context& context);

/// The size of a gather-scatter, for an estimate: the largest over the ranks, or more.
struct Load {
  double nodes = 0;  ///< per rank
  double sent = 0;   ///< values that a rank sends to others: Sharing::sent()
  int ranks = 1;
};

/// Bytes per rank.
struct Footprint {
  double buffers = 0;  ///< by way of Context::allocate
  double staging = 0;  ///< by way of Context::allocate_staging; nothing where the data lies on the host
};

/// An upper estimate of what the lists and one operation of each method allocate together.
Footprint upper_bytes(const Load& load, const ValueKind& kind);

}  // namespace commlens::gather_scatter
