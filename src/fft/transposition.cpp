#include "fft/transposition.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"

namespace commlens::fft {

using device::Direction;

/// A transport between the members, and the messages of both directions.
struct Transposition::Connection {
  /// The messages of one direction.
  struct Way {
    const void* from = nullptr;
    void* to = nullptr;
    std::vector<transport::Piece> sends;
    std::vector<transport::Piece> receives;
    std::vector<std::unique_ptr<transport::Exchange>> with_peers;  ///< by distance, from 1 on
  };

  std::unique_ptr<transport::Transport> split;
  transport::Transport* transport = nullptr;
  Way forward;
  Way backward;

  Way& way(Direction direction) { return direction == Direction::forward ? forward : backward; }
};

namespace {

/// With the peers in a ring, the one at this distance after this rank.
std::size_t peer_after(const Redistribution& plan, std::size_t distance) {
  return (static_cast<std::size_t>(plan.me) + distance) % plan.peers.size();
}
std::size_t peer_before(const Redistribution& plan, std::size_t distance) {
  return peer_after(plan, plan.peers.size() - distance);
}

transport::Message message(std::size_t peer, const void* blocks, const std::vector<transport::Piece>& pieces) {
  const transport::Piece& piece = pieces.at(peer);
  // A message that is sent is only read.
  auto* data = const_cast<std::byte*>(static_cast<const std::byte*>(blocks)) + piece.offset;
  return {.peer = static_cast<int>(peer), .data = data, .bytes = piece.bytes};
}

}  // namespace

Transposition::Transposition(const Redistribution& redistribution, DataType type, const Arrays& blocks,
                             const Members& members, Exchange exchange, const device::Allocate& allocate,
                             device::Stream& stream)
    : redistribution_(redistribution),
      size_(size_of(type)),
      blocks_(blocks),
      members_(members),
      exchange_(exchange),
      packer_(redistribution, type, allocate, stream) {
  if (members_.grid == nullptr) members_.cached = true;
  if (members_.cached) cached_ = connect();
}

Transposition::~Transposition() = default;

std::unique_ptr<Transposition::Connection> Transposition::connect() const {
  auto connection = std::make_unique<Connection>();
  connection->transport = &members_.all;
  if (members_.grid != nullptr) {
    Line line = members_.grid->line(members_.axis);
    if (line.position != redistribution_.me || line.members.size() != redistribution_.peers.size()) {
      throw Error("the process grid is not the one that the layout was made for");
    }
    connection->split = members_.all.split(std::move(line.communicator));
    connection->transport = connection->split.get();
  }
  const auto before = redistribution_.blocks_before(size_);
  const auto after = redistribution_.blocks_after(size_);
  connection->forward = {blocks_.blocks_before, blocks_.blocks_after, before, after, {}};
  connection->backward = {blocks_.blocks_after, blocks_.blocks_before, after, before, {}};
  if (exchange_ == Exchange::alltoallv) return connection;
  for (Connection::Way* way : {&connection->forward, &connection->backward}) {
    for (std::size_t distance = 1; distance < redistribution_.peers.size(); ++distance) {
      way->with_peers.push_back(
          connection->transport->exchange({message(peer_after(redistribution_, distance), way->from, way->sends)},
                                          {message(peer_before(redistribution_, distance), way->to, way->receives)}));
    }
  }
  return connection;
}

void Transposition::forward(const void* before, void* after, double scale, StepObserver* observer,
                            device::Stream& stream) {
  Arrays arrays = blocks_;
  arrays.before = const_cast<void*>(before);  // only read in this direction
  arrays.after = after;
  run({Direction::forward, arrays, scale, observer, stream});
}

void Transposition::backward(const void* after, void* before, StepObserver* observer, device::Stream& stream) {
  Arrays arrays = blocks_;
  arrays.before = before;
  arrays.after = const_cast<void*>(after);  // only read in this direction
  run({Direction::backward, arrays, 1, observer, stream});
}

void Transposition::run(const Move& move) {
  std::unique_ptr<Connection> made;
  if (!cached_) {
    observed(move.observer, part::communicators, move.stream, [&] {
      // A host stream works only while somebody waits for it: earlier work would be timed as part of a later step.
      if (!move.stream.on_gpu()) move.stream.wait();
      made = connect();
    });
  }
  Connection& connection = cached_ ? *cached_ : *made;
  if (exchange_ == Exchange::pipelined) {
    pipelined(connection, move);
  } else {
    at_once(connection, move);
  }
  if (cached_) return;
  observed(move.observer, part::communicators, move.stream, [&] {
    move.stream.wait();  // the connection is in use until then
    made.reset();
  });
}

void Transposition::at_once(Connection& connection, const Move& move) {
  Connection::Way& way = connection.way(move.direction);
  move_all(move, move.direction == Direction::forward);
  observed(move.observer, part::communication, move.stream, [&] {
    if (exchange_ == Exchange::alltoallv) {
      connection.transport->alltoallv(way.from, way.sends, way.to, way.receives, move.stream);
    }
    for (const auto& with_peer : way.with_peers) with_peer->run(move.stream);
  });
  move_all(move, move.direction == Direction::backward);
}

/// What stays on this rank is moved while the last messages are in flight.
void Transposition::pipelined(Connection& connection, const Move& move) {
  const bool forward = move.direction == Direction::forward;
  Connection::Way& way = connection.way(move.direction);
  const auto before = [&](std::size_t peer) {
    packer_.at_before(move.direction, move.arrays, redistribution_.peers[peer].columns, move.scale, move.stream);
  };
  const auto after = [&](std::size_t peer) {
    packer_.at_after(move.direction, move.arrays, redistribution_.peers[peer], move.stream);
  };
  const auto self = static_cast<std::size_t>(redistribution_.me);
  for (std::size_t distance = 1; distance <= way.with_peers.size(); ++distance) {
    const std::size_t peer = peer_after(redistribution_, distance);
    observed(move.observer, part::packing, move.stream, [&] { forward ? before(peer) : after(peer); });
    observed(move.observer, part::communication, move.stream,
             [&] { way.with_peers[distance - 1]->start(move.stream); });
  }
  observed(move.observer, part::packing, move.stream, [&] { before(self); });
  for (std::size_t distance = 1; distance <= way.with_peers.size(); ++distance) {
    const std::size_t peer = peer_before(redistribution_, distance);
    observed(move.observer, part::communication, move.stream,
             [&] { way.with_peers[distance - 1]->finish(move.stream); });
    observed(move.observer, part::packing, move.stream, [&] { forward ? after(peer) : before(peer); });
  }
}

void Transposition::move_all(const Move& move, bool before) const {
  observed(move.observer, part::packing, move.stream, [&] {
    if (before) {
      packer_.all_at_before(move.direction, move.arrays, move.scale, move.stream);
    } else {
      packer_.all_at_after(move.direction, move.arrays, move.stream);
    }
  });
}

void Transposition::exchange_blocks(Direction direction, device::Stream& stream) {
  if (!cached_) throw Error("a transposition without a cached sub-communicator has no exchange of its own");
  const Connection::Way& way = cached_->way(direction);
  cached_->transport->alltoallv(way.from, way.sends, way.to, way.receives, stream);
}

}  // namespace commlens::fft
