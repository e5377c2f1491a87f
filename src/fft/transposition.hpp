// A redistribution carried out: packed, exchanged and unpacked, over a sub-communicator that is kept, or made anew
// every time.
#pragma once

#include <memory>
#include <vector>

#include "device/device.hpp"
#include "fft/process_grid.hpp"
#include "fft/redistribution.hpp"
#include "transport/transport.hpp"

namespace commlens::fft {

/// How blocks travel: in one alltoallv; in one message to and from each peer in turn; or so that packing, messages and
/// unpacking of different peers overlap.
enum class Exchange { alltoallv, pairwise, pipelined };

/// Told of the steps of a transform as they are added to its stream.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(const char* part, device::Stream& stream) = 0;
  virtual void end(device::Stream& stream) = 0;
};

/// What the steps are parts of.
namespace part {
inline constexpr const char* local_fft = "local FFT";
inline constexpr const char* packing = "pack and unpack";
inline constexpr const char* communication = "communication";
inline constexpr const char* communicators = "communicators";
}  // namespace part

/// Does `work`, which adds to `stream`; whoever observes is told.
template <class Work>
void observed(Observer* observer, const char* part, device::Stream& stream, Work work) {
  if (observer != nullptr) observer->begin(part, stream);
  work();
  if (observer != nullptr) observer->end(stream);
}

/// The ranks between which a redistribution takes place: a line of the process grid, or all.
struct Between {
  transport::Transport& all;
  const ProcessGrid* grid = nullptr;  ///< nullptr: all ranks, and no sub-communicator
  int axis = 0;                       ///< of the line
  bool cached = true;                 ///< its sub-communicator, counts and messages are made once
};

class Transposition {
 public:
  /// All that is passed must outlive it. Of `blocks` both layouts are left open. Collective where something is cached.
  Transposition(const Redistribution& redistribution, DataType type, const Arrays& blocks, const Between& between,
                Exchange exchange, const Packer::Allocate& allocate, device::Stream& stream);
  Transposition(const Transposition&) = delete;
  Transposition& operator=(const Transposition&) = delete;
  ~Transposition();

  /// Forward: from the layout before to the one after, times `scale`. Collective.
  void forward(const void* before, void* after, double scale, Observer* observer, device::Stream& stream);
  /// From the layout after to the one before. Collective.
  void backward(const void* after, void* before, Observer* observer, device::Stream& stream);
  /// The exchange alone, in one alltoallv, of whatever lies in the blocks: what the transport needs for it. Only where
  /// it is cached.
  void exchange_blocks(device::Direction direction, device::Stream& stream);

 private:
  struct Connection;

  /// One run: where it leads, and between which arrays.
  struct Move {
    device::Direction direction;
    Arrays arrays;
    double scale;
    Observer* observer;
    device::Stream& stream;
  };

  [[nodiscard]] std::unique_ptr<Connection> connect() const;
  void run(const Move& move);
  void at_once(Connection& connection, const Move& move);
  void pipelined(Connection& connection, const Move& move);
  /// Out of the layout that it starts from, or into the one that it leads to.
  void pack(const Move& move) const;
  void unpack(const Move& move) const;

  const Redistribution& redistribution_;
  std::size_t size_;  ///< bytes of an element
  Arrays blocks_;
  Between between_;
  Exchange exchange_;
  Packer packer_;
  std::unique_ptr<Connection> cached_;
};

}  // namespace commlens::fft
