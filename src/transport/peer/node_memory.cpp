#include "transport/peer/node_memory.hpp"

#include <new>
#include <string>

#include "base/error.hpp"

namespace commlens::transport::peer {

std::unique_ptr<SharedMemory> share(const Communicator& communicator, std::size_t bytes, const std::string& purpose) {
  std::string problem;
  auto memory = SharedMemory::make(communicator, bytes, problem);
  if (!memory) throw Error("no memory that the ranks of the node share for " + purpose + " (" + problem + ")");
  return memory;
}

ControlBlocks::ControlBlocks(const Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  memory_ = share(communicator, sizeof(ControlBlock) + ranks * sizeof(Ring), "flags");
  new (&of(communicator.rank())) ControlBlock;
  for (int from = 0; from < communicator.size(); ++from) new (&ring(from, communicator.rank())) Ring;
  communicator.barrier();
}

Ring& ControlBlocks::ring(int from, int to) const {
  return reinterpret_cast<Ring*>(memory_->of(to) + sizeof(ControlBlock))[from];
}

Arenas::Arenas(const Communicator& communicator, std::size_t bytes)
    : rank_(communicator.rank()), bytes_(bytes), memory_(share(communicator, bytes, "buffers")) {
  for (const std::string& begin : communicator.gather(std::to_string(reinterpret_cast<std::uintptr_t>(part())))) {
    begins_.push_back(std::stoull(begin));
  }
}

bool Arenas::has(const void* data, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(data);
  return first >= part() && first + bytes <= part() + bytes_;
}

const std::byte* Arenas::find(int rank, const std::byte* data) const {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(data) - begins_[static_cast<std::size_t>(rank)];
  return memory_->of(rank) + offset;
}

}  // namespace commlens::transport::peer
