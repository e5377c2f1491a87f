#include "fft/redistribution.hpp"

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "fft/complex.hpp"

namespace commlens::fft {

using device::Direction;

namespace {

/// The index of an element in its block: `start` + (its spectator or row) * `step`.
struct Place {
  std::size_t start;
  std::size_t step;
};

struct Column {
  std::size_t place;  ///< in the layout before
  Place block;
};

std::vector<Column> columns_of(const Redistribution& plan) {
  std::vector<Column> columns;
  for (const auto& peer : plan.peers) {
    const std::size_t first = plan.spectators * plan.held * peer.columns.begin;
    for (std::size_t c = 0; c < peer.columns.count; ++c) {
      columns.push_back({plan.places[peer.columns.begin + c], {first + c * plan.held, peer.columns.count * plan.held}});
    }
  }
  return columns;
}

/// Blocks are adjacent, in the order of the parts of b that they have; each is stored row by row.
std::vector<Place> held_of(const Redistribution& plan) {
  std::vector<Place> held(plan.extent);
  for (const auto& peer : plan.peers) {
    for (std::size_t b = 0; b < peer.held.count; ++b) {
      held[peer.held.begin + b] = {plan.rows * peer.held.begin + b, peer.held.count};
    }
  }
  return held;
}

/// An element of the layout before, and its counterpart: in a block, or in the layout after if it stays on the rank.
template <class Real>
struct BeforeSide {
  Complex<Real>* before;
  Complex<Real>* after;
  Complex<Real>* blocks;
  const Column* columns;
  std::size_t spectator_stride;
  std::size_t held_stride;
  Range staying;            ///< columns that stay
  std::size_t staying_row;  ///< the first of their rows
  std::size_t staying_held;
  std::size_t extent;

  [[nodiscard]] COMMLENS_FUNCTION Complex<Real>& here(std::size_t a, std::size_t c, std::size_t b) const {
    return before[columns[c].place + a * spectator_stride + b * held_stride];
  }
  [[nodiscard]] COMMLENS_FUNCTION Complex<Real>& there(std::size_t a, std::size_t c, std::size_t b) const {
    const std::size_t inside = c - staying.begin;  // wraps around below
    if (inside < staying.count) return after[(staying_row + a * staying.count + inside) * extent + staying_held + b];
    const Place& block = columns[c].block;
    return blocks[block.start + a * block.step + b];
  }
};

template <class Real>
void move_before(Direction direction, const Redistribution& plan, BeforeSide<Real> side, Range columns, Real scale,
                 device::Stream& stream) {
  const bool forward = direction == Direction::forward;
  const bool adjacent = plan.spectators_adjacent;
  const std::size_t first = columns.begin;
  // The last index is adjacent in the layout before, the second, b, in the other one.
  const device::Box box = adjacent ? device::Box{columns.count, plan.held, plan.spectators}
                                   : device::Box{plan.spectators, plan.held, columns.count};
  device::launch(
      stream, box, COMMLENS_LAMBDA(std::size_t i, std::size_t b, std::size_t k) {
        const std::size_t a = adjacent ? k : i;
        const std::size_t c = first + (adjacent ? i : k);
        if (forward) {
          const Complex<Real> value = side.here(a, c, b);
          side.there(a, c, b) = {value.real * scale, value.imaginary * scale};
        } else {
          side.here(a, c, b) = side.there(a, c, b);
        }
      });
}

template <class Real>
void move_after(Direction direction, const Redistribution& plan, const Arrays& arrays, const Place* places,
                const Redistribution::Peer& part, device::Stream& stream) {
  const bool forward = direction == Direction::forward;
  auto* const after = static_cast<Complex<Real>*>(arrays.after);
  auto* const blocks = static_cast<Complex<Real>*>(arrays.blocks_after);
  const auto self = plan.self();
  const std::size_t extent = plan.extent;
  const Range rows = part.rows;
  const Range held = part.held;
  device::launch(
      stream, device::Box{1, rows.count, held.count}, COMMLENS_LAMBDA(std::size_t, std::size_t j, std::size_t k) {
        const std::size_t row = rows.begin + j;
        const std::size_t b = held.begin + k;
        if (row - self.rows.begin < self.rows.count && b - self.held.begin < self.held.count)
          return;  // stays, and is in no block
        Complex<Real>& element = after[row * extent + b];
        Complex<Real>& in_block = blocks[places[b].start + row * places[b].step];
        if (forward) {
          element = in_block;
        } else {
          in_block = element;
        }
      });
}

}  // namespace

std::vector<transport::Piece> Redistribution::blocks_before(std::size_t size) const {
  std::vector<transport::Piece> pieces;
  for (const Peer& peer : peers) {
    const std::size_t each = spectators * held * size;
    const bool stays = &peer == &self();
    pieces.push_back({.offset = each * peer.columns.begin, .bytes = stays ? 0 : each * peer.columns.count});
  }
  return pieces;
}

std::vector<transport::Piece> Redistribution::blocks_after(std::size_t size) const {
  std::vector<transport::Piece> pieces;
  for (const Peer& peer : peers) {
    const bool stays = &peer == &self();
    pieces.push_back({.offset = (rows * peer.held.begin + peer.rows.begin * peer.held.count) * size,
                      .bytes = stays ? 0 : peer.rows.count * peer.held.count * size});
  }
  return pieces;
}

Packer::Packer(const Redistribution& redistribution, DataType type, const device::Allocate& allocate,
               device::Stream& stream)
    : redistribution_(redistribution),
      type_(type),
      columns_(device::upload(columns_of(redistribution), allocate, stream)),
      held_(device::upload(held_of(redistribution), allocate, stream)) {}

void Packer::at_before(Direction direction, const Arrays& arrays, Range columns, double scale,
                       device::Stream& stream) const {
  in_precision(type_, [&](auto real) {
    using Real = decltype(real);
    const auto& self = redistribution_.self();
    move_before(direction, redistribution_,
                BeforeSide<Real>{.before = static_cast<Complex<Real>*>(arrays.before),
                                 .after = static_cast<Complex<Real>*>(arrays.after),
                                 .blocks = static_cast<Complex<Real>*>(arrays.blocks_before),
                                 .columns = columns_.as<Column>(),
                                 .spectator_stride = redistribution_.spectator_stride,
                                 .held_stride = redistribution_.held_stride,
                                 .staying = self.columns,
                                 .staying_row = self.rows.begin,
                                 .staying_held = self.held.begin,
                                 .extent = redistribution_.extent},
                columns, static_cast<Real>(scale), stream);
  });
}

void Packer::at_after(Direction direction, const Arrays& arrays, const Redistribution::Peer& peer,
                      device::Stream& stream) const {
  in_precision(type_, [&](auto real) {
    move_after<decltype(real)>(direction, redistribution_, arrays, held_.as<Place>(), peer, stream);
  });
}

void Packer::all_at_before(Direction direction, const Arrays& arrays, double scale, device::Stream& stream) const {
  at_before(direction, arrays, {0, redistribution_.places.size()}, scale, stream);
}

void Packer::all_at_after(Direction direction, const Arrays& arrays, device::Stream& stream) const {
  if (redistribution_.staying() == redistribution_.after()) return;
  at_after(direction, arrays, {{}, {0, redistribution_.rows}, {0, redistribution_.extent}}, stream);
}

}  // namespace commlens::fft
