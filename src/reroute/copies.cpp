#include "copies.hpp"

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "preload/memory_kind.hpp"

namespace commlens::reroute {
namespace {

/// A block of a type with gaps, through memory of the host.
class PackedOnHost {
 public:
  PackedOnHost(Device& device, const Side& side, int block)
      : device_(device),
        side_(side),
        span_(side.span_of(block)),
        elements_(side.elements(block)),
        bytes_(side.bytes(block)),
        layout_(static_cast<char*>(std::malloc(span_.bytes))),
        other_(static_cast<char*>(std::malloc(span_.bytes))),
        packed_(static_cast<char*>(std::malloc(bytes_))) {}
  ~PackedOnHost() {
    std::free(layout_);
    std::free(other_);
    std::free(packed_);
  }
  PackedOnHost(PackedOnHost&&) = delete;

  bool pack(char* to) {
    int position = 0;
    return can_be_packed() && device_.copy(layout_, span_.begin, span_.bytes) &&
           reroute.mpi.pack(origin(layout_), static_cast<int>(elements_), side_.type, packed_, static_cast<int>(bytes_),
                            &position, reroute.mpi.world) == MPI_SUCCESS &&
           device_.copy(to, packed_, bytes_);
  }
  /// What is between the elements is not written: the program may write there at the same time.
  bool unpack(const char* from) {
    return can_be_packed() && device_.copy(packed_, from, bytes_) && unpack_over(0, layout_) &&
           unpack_over(0xFF, other_) && copy_elements();
  }

 private:
  [[nodiscard]] bool can_be_packed() const {
    return layout_ != nullptr && other_ != nullptr && packed_ != nullptr && elements_ <= INT_MAX && bytes_ <= INT_MAX;
  }
  [[nodiscard]] char* origin(char* layout) const { return layout - side_.layout.true_lower_bound; }
  [[nodiscard]] bool unpack_over(int byte, char* layout) const {
    int position = 0;
    std::memset(layout, byte, span_.bytes);
    return reroute.mpi.unpack(packed_, static_cast<int>(bytes_), &position, origin(layout), static_cast<int>(elements_),
                              side_.type, reroute.mpi.world) == MPI_SUCCESS;
  }
  /// Elements are where bytes are the same, whatever was there before.
  bool copy_elements() {
    for (std::uint64_t begin = 0; begin < span_.bytes;) {
      std::uint64_t end = begin;
      while (end < span_.bytes && layout_[end] == other_[end]) ++end;
      if (!device_.enqueue_copy(span_.begin + begin, layout_ + begin, end - begin)) return false;
      begin = end;
      while (begin < span_.bytes && layout_[begin] != other_[begin]) ++begin;
    }
    return device_.wait_for_copies();
  }

  Device& device_;
  const Side& side_;
  Side::Span span_;
  std::uint64_t elements_;
  std::uint64_t bytes_;
  char* layout_;
  char* other_;  // the same
  char* packed_;
};

}  // namespace

bool is_resident(const Side& side, const Device& device) {
  if (side.total() == 0) return true;
  if (!side.layout.is_dense) return false;
  const preload::Memory memory = preload::memory_of(side.span().begin);
  return memory.kind == preload::MemoryKind::device && memory.device == device.number() &&
         Device::is_primary(side.span().begin, memory.device);
}

bool pack(Device& device, const Side& side, char* to) {
  for (int block = 0; block < side.blocks; ++block) {
    const std::uint64_t bytes = side.bytes(block);
    if (bytes == 0) continue;
    char* place = to + side.bytes_before(block);
    const bool is_copied = side.layout.is_dense ? device.copy(place, side.address(block), bytes)
                                                : PackedOnHost(device, side, block).pack(place);
    if (!is_copied) return false;
  }
  return true;
}

bool unpack(Device& device, const Side& side, const char* from) {
  for (int block = 0; block < side.blocks; ++block) {
    const std::uint64_t bytes = side.bytes(block);
    if (bytes == 0) continue;
    const char* place = from + side.bytes_before(block);
    const bool is_copied = side.layout.is_dense ? device.copy(side.address(block), place, bytes)
                                                : PackedOnHost(device, side, block).unpack(place);
    if (!is_copied) return false;
  }
  return true;
}

}  // namespace commlens::reroute
