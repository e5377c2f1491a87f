// What a rank sends and receives in a call, alike for all functions.
#pragma once

#include <cstdint>

#include "reroute.hpp"
#include "types.hpp"

namespace commlens::reroute {

/// Of an array, whose elements are MPI_Count where `is_large`.
inline std::uint64_t count_at(const void* counts, bool is_large, int rank) {
  return is_large ? static_cast<std::uint64_t>(static_cast<const MPI_Count*>(counts)[rank])
                  : static_cast<std::uint64_t>(static_cast<const int*>(counts)[rank]);
}

/// What is sent, or received: blocks of elements, one for each rank or a single one. Without blocks
/// the rank sends or receives nothing.
struct Side {
  char* base = nullptr;
  MPI_Datatype type{};
  TypeLayout layout{};
  int blocks = 0;
  std::uint64_t count = 0;        // of each block, where there is no array
  const void* counts = nullptr;   // of the blocks, for count_at
  const void* offsets = nullptr;  // in elements; null: blocks follow each other
  bool is_large = false;

  [[nodiscard]] std::uint64_t elements(int block) const {
    return counts == nullptr ? count : count_at(counts, is_large, block);
  }
  [[nodiscard]] std::uint64_t bytes(int block) const { return elements(block) * layout.size; }
  /// Of the block, in the program's memory.
  [[nodiscard]] char* address(int block) const;
  /// Bytes of the blocks before it, or of all.
  [[nodiscard]] std::uint64_t bytes_before(int block) const;
  [[nodiscard]] std::uint64_t total() const { return bytes_before(blocks); }
  [[nodiscard]] bool is_dense() const { return total() == 0 || layout.is_dense; }
  /// All memory that its elements are in, with the gaps.
  struct Span {
    char* begin;
    std::uint64_t bytes;
  };
  [[nodiscard]] Span span() const { return span_of(0, blocks); }
  [[nodiscard]] Span span_of(int block) const { return span_of(block, block + 1); }

 private:
  [[nodiscard]] Span span_of(int first, int end) const;
};

struct Operands {
  Side send;
  Side receive;
  bool is_in_place = false;  // what is received is also what is sent
};

/// What MPI writes to, with what it reads there before, if the call is in place.
const Side& written_side(const Operands& operands);

/// Whether NCCL needs memory for the result: in place it expects it at the rank's own block.
bool needs_other_memory(const Arguments& arguments, const Operands& operands);

/// The same call with other memory, at the place of the sides' bases; null: as it is.
Arguments with_buffers(const Arguments& arguments, char* send, char* receive);

Operands operands_of(const Arguments& arguments, int rank, int ranks);

/// The size of the call's largest buffer, on any rank. All ranks have the same, except in
/// MPI_Alltoallv, where it is what this rank sends.
std::uint64_t bytes_of(const Arguments& arguments);
/// What the rank sends, as `commlens profile` counts it, where `bytes` are those of the largest buffer.
std::uint64_t sent_bytes_of(const Arguments& arguments, std::uint64_t bytes);

}  // namespace commlens::reroute
