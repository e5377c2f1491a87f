// One redistribution of a distributed transform: before it one axis is complete on every rank, after it another one.
//
// Before, a rank has all of axis c and its part of axis b; after, all of b and its part of c. Elements that differ in c
// go to different peers:
//
//   before, on rank r     (a, c, b of r)        at places[c] + a * spectator_stride + b * held_stride
//   blocks, r to peer d   (a, c of d, b of r)   b fastest; block after block, by peer
//   after, on rank d      (a, c of d, b)        rows of all b, one for each (a, c)
//
// a are the spectators, which do not change ranks. Elements that stay on the rank are copied directly from one layout
// to the other, and are in no block. Backward the same steps are done in reverse.
#pragma once

#include <cstddef>
#include <vector>

#include "device/data_type.hpp"
#include "device/device.hpp"
#include "device/fft.hpp"
#include "fft/process_grid.hpp"
#include "transport/transport.hpp"

namespace commlens::fft {

/// One rank's part in a redistribution. All counts are in elements.
struct Redistribution {
  struct Peer {
    Range columns;  ///< of c: this rank sends them to the peer
    Range rows;     ///< of the layout after: the peer sends a part of them
    Range held;     ///< of b: that part
  };

  std::size_t spectators = 1;
  std::size_t spectator_stride = 0;
  std::size_t held = 0;  ///< of b, on this rank, in the layout before
  std::size_t held_stride = 0;
  bool spectators_adjacent = false;  ///< in the layout before spectators are adjacent, not columns
  std::vector<std::size_t> places;   ///< of c, sorted by the peer that they are sent to
  std::size_t rows = 0;              ///< of the layout after
  std::size_t extent = 0;            ///< of b
  std::vector<Peer> peers;           ///< this rank among them
  int me = 0;

  [[nodiscard]] const Peer& self() const { return peers.at(static_cast<std::size_t>(me)); }
  [[nodiscard]] std::size_t before() const { return spectators * places.size() * held; }
  [[nodiscard]] std::size_t after() const { return rows * extent; }
  /// Elements that stay on the rank.
  [[nodiscard]] std::size_t staying() const { return self().rows.count * self().held.count; }
  /// The blocks on each side, by peer, with elements of `size` bytes; this rank's own is empty.
  [[nodiscard]] std::vector<transport::Piece> blocks_before(std::size_t size) const;
  [[nodiscard]] std::vector<transport::Piece> blocks_after(std::size_t size) const;
};

/// The arrays of a redistribution, on the device: both layouts, and the blocks on each side.
struct Arrays {
  void* before = nullptr;
  void* after = nullptr;
  void* blocks_before = nullptr;  ///< Redistribution::before() elements
  void* blocks_after = nullptr;   ///< Redistribution::after() elements
};

/// Packs and unpacks: one kernel on each side.
class Packer {
 public:
  /// `redistribution` must outlive it. Uploads tables on the stream, and waits for it.
  Packer(const Redistribution& redistribution, DataType type, const device::Allocate& allocate, device::Stream& stream);

  /// Forward: packs columns, multiplied by `scale`, into blocks, and those that stay into the layout after. Backward:
  /// unpacks them.
  void at_before(device::Direction direction, const Arrays& arrays, Range columns, double scale,
                 device::Stream& stream) const;
  /// Forward: unpacks what a peer has sent. Backward: packs what is sent to it.
  void at_after(device::Direction direction, const Arrays& arrays, const Redistribution::Peer& peer,
                device::Stream& stream) const;
  /// The same for all peers at once.
  void all_at_before(device::Direction direction, const Arrays& arrays, double scale, device::Stream& stream) const;
  void all_at_after(device::Direction direction, const Arrays& arrays, device::Stream& stream) const;

 private:
  const Redistribution& redistribution_;
  DataType type_;
  device::Buffer columns_;  ///< a Column (redistribution.cpp) per c
  device::Buffer held_;     ///< a Place per b
};

}  // namespace commlens::fft
