// One step of a distributed transform: from where one axis is whole on every rank to where another one is.
//
// Before it, a rank has all of an axis c, and its part of an axis b; after it, all of b, and its part of c. Elements
// that differ in c go to different peers:
//
//   before, on rank r   (a, c, b of r)     at place[c] + a * spectator_stride + b * held_stride
//   blocks, r to peer d (a, c of d, b of r)   b fastest, one after the other by peer
//   after, on rank d    (a, c of d, b)     by rows of all b; a row an (a, c)
//
// a are the spectators: what both layouts hold alike. What stays on the rank goes straight from one layout to the other
// and is in no block. The same steps backward lead back.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "device/data_type.hpp"
#include "device/device.hpp"
#include "device/fft.hpp"
#include "fft/split.hpp"
#include "transport/transport.hpp"

namespace commlens::fft {

/// What one rank has to do with a redistribution; all counts are elements.
struct Redistribution {
  struct Peer {
    Range columns;  ///< of c: what this rank sends to the peer
    Range rows;     ///< of the layout after: those of which the peer holds a part
    Range held;     ///< of b: that part
  };

  std::size_t spectators = 1;
  std::size_t spectator_stride = 0;
  std::size_t held = 0;  ///< of b, on this rank, in the layout before
  std::size_t held_stride = 0;
  bool spectators_adjacent = false;  ///< they, not the columns, lie next to each other in the layout before
  std::vector<std::size_t> places;   ///< of c, sorted by the peer to which they go
  std::size_t rows = 0;              ///< of the layout after
  std::size_t whole = 0;             ///< of b
  std::vector<Peer> peers;           ///< this rank among them
  int me = 0;

  [[nodiscard]] const Peer& own() const { return peers.at(static_cast<std::size_t>(me)); }
  [[nodiscard]] std::size_t before() const { return spectators * places.size() * held; }
  [[nodiscard]] std::size_t after() const { return rows * whole; }
  /// That stay on the rank.
  [[nodiscard]] std::size_t kept() const { return own().rows.count * own().held.count; }
  /// Pieces of the blocks next to each layout, by peer, in elements of `size` bytes; what stays is empty.
  [[nodiscard]] std::vector<transport::Piece> blocks_before(std::size_t size) const;
  [[nodiscard]] std::vector<transport::Piece> blocks_after(std::size_t size) const;
};

/// The arrays of a redistribution, on the device: both layouts, and the blocks next to each.
struct Arrays {
  void* before = nullptr;
  void* after = nullptr;
  void* blocks_before = nullptr;  ///< Redistribution::before() elements
  void* blocks_after = nullptr;   ///< Redistribution::after() elements
};

/// Packs and unpacks: one kernel on each side.
class Packer {
 public:
  using Allocate = std::function<device::Buffer(std::size_t bytes)>;

  /// `redistribution` must outlive it. Fills its tables by way of the stream, and waits for it.
  Packer(const Redistribution& redistribution, DataType type, const Allocate& allocate, device::Stream& stream);
  /// That it asks of `allocate`, in two pieces.
  [[nodiscard]] static std::size_t table_bytes(const Redistribution& redistribution);

  /// Forward: packs columns into blocks, times `scale`, what stays into the layout after. Backward: unpacks them.
  void at_before(device::Direction direction, const Arrays& arrays, Range columns, double scale,
                 device::Stream& stream) const;
  /// Forward: unpacks what comes from a peer. Backward: packs what goes to it.
  void at_after(device::Direction direction, const Arrays& arrays, const Redistribution::Peer& peer,
                device::Stream& stream) const;
  /// The same for all peers at once.
  void all_at_before(device::Direction direction, const Arrays& arrays, double scale, device::Stream& stream) const;
  void all_at_after(device::Direction direction, const Arrays& arrays, device::Stream& stream) const;

 private:
  const Redistribution& redistribution_;
  DataType type_;
  device::Buffer columns_;  ///< a Column (redistribution.cpp) for each c
  device::Buffer held_;     ///< a Place for each b
};

}  // namespace commlens::fft
