#include "transport/by_messages.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace commlens::transport {

namespace {

/// Within this rank.
struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
};

/// What one rank does at the same time.
struct Step {
  std::vector<Message> sends;
  std::vector<Message> receives;
};

std::byte* at(void* data, std::size_t bytes) { return static_cast<std::byte*>(data) + bytes; }
/// A message that is sent is only read.
std::byte* at(const void* data, std::size_t bytes) { return at(const_cast<void*>(data), bytes); }

class CollectiveByMessages final : public Exchange {
 public:
  CollectiveByMessages(Transport& transport, std::vector<Copy> copies, std::vector<Step> steps)
      : copies_(std::move(copies)) {
    for (Step& step : steps) exchanges_.push_back(transport.exchange(std::move(step.sends), std::move(step.receives)));
  }

  void start(device::Stream& stream) override {
    for (const Copy& copy : copies_) stream.copy(copy.to, copy.from, copy.bytes);
    exchanges_.front()->start(stream);
  }
  void finish(device::Stream& stream) override {
    exchanges_.front()->finish(stream);
    finish_others(stream);
  }
  void run(device::Stream& stream) override {
    for (const Copy& copy : copies_) stream.copy(copy.to, copy.from, copy.bytes);
    exchanges_.front()->run(stream);
    finish_others(stream);
  }

 private:
  void finish_others(device::Stream& stream) {
    for (std::size_t step = 1; step < exchanges_.size(); ++step) exchanges_[step]->run(stream);
  }

  std::vector<Copy> copies_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

std::vector<Copy> own_copies(const Collective& collective) {
  std::vector<Copy> copies;
  const std::size_t size = size_of(collective.type);
  for (const Block& block : collective.blocks()) {
    const Copy copy{at(collective.output, block.output * size), at(collective.input, block.input * size),
                    block.count * size};
    if (block.first == collective.shape.rank && copy.to != copy.from && copy.bytes > 0) copies.push_back(copy);
  }
  return copies;
}

/// Ranks begin with different peers, so that not all of them access the memory of one at the same time.
Step messages_of(const Collective& collective, OwnBlocks own) {
  const std::size_t size = size_of(collective.type);
  const Shape& shape = collective.shape;
  Step step;
  for (int distance = own == OwnBlocks::messages ? 0 : 1; distance < shape.ranks; ++distance) {
    Shape theirs = shape;
    theirs.rank = (shape.rank + distance) % shape.ranks;
    for (const Block& block : collective.description().blocks(theirs)) {
      if (block.first != shape.rank || block.count == 0) continue;
      step.sends.push_back({theirs.rank, at(collective.input, block.input * size), block.count * size});
    }
    const int from = (shape.rank + shape.ranks - distance) % shape.ranks;
    for (const Block& block : collective.blocks()) {
      if (block.first != from || block.count == 0) continue;
      step.receives.push_back({from, at(collective.output, block.output * size), block.count * size});
    }
  }
  return step;
}

/// After k exchanges a rank has the blocks of 2^k ranks, and so sends twice as many in the next one.
std::vector<Step> along_hypercube(const Collective& collective) {
  const auto block = [&](int rank) { return collective.shape.begin(rank) * size_of(collective.type); };
  std::vector<Step> steps;
  for (int side = 1; side < collective.shape.ranks; side *= 2) {
    const int mine = collective.shape.rank / side * side;  // the first of the ranks whose blocks are here
    const int theirs = mine ^ side;
    const int peer = collective.shape.rank ^ side;
    const std::size_t bytes = block(side);
    steps.push_back({.sends = {{peer, at(collective.output, block(mine)), bytes}},
                     .receives = {{peer, at(collective.output, block(theirs)), bytes}}});
  }
  if (steps.empty()) steps.emplace_back();
  return steps;
}

}  // namespace

bool is_by_messages(Operation operation) { return operation == Operation::shift || operation == Operation::hypercube; }

std::string by_messages_unsupported(const Collective& collective, CallMode mode) {
  if (mode == CallMode::persistent) return "made of messages, it has no persistent call";
  const auto ranks = static_cast<unsigned>(collective.shape.ranks);
  if (collective.description().reduces || collective.operation == Operation::barrier) {
    return "this transport has no " + std::string(name(collective.operation));
  }
  if (collective.operation == Operation::hypercube && !std::has_single_bit(ranks)) {
    return "a hypercube has 2, 4, 8 ... ranks, not " + std::to_string(ranks);
  }
  // A message would replace what is still to be sent.
  const bool is_alltoall = collective.operation == Operation::alltoall ||
                           collective.operation == Operation::alltoallv || collective.operation == Operation::alltoallw;
  if (collective.in_place && is_alltoall) {
    return fmt::format("{} has two buffers over this transport: use --out-of-place, or --transport mpi",
                       name(collective.operation));
  }
  return {};
}

std::unique_ptr<Exchange> by_messages(Transport& transport, const Collective& collective, OwnBlocks own) {
  std::vector<Copy> copies = own_copies(collective);
  if (collective.operation == Operation::hypercube) {
    return std::make_unique<CollectiveByMessages>(transport, std::move(copies), along_hypercube(collective));
  }
  // In place there is nothing to copy.
  if (copies.empty()) own = OwnBlocks::copied;
  if (own == OwnBlocks::messages) copies.clear();
  return std::make_unique<CollectiveByMessages>(transport, std::move(copies),
                                                std::vector<Step>{messages_of(collective, own)});
}

}  // namespace commlens::transport
