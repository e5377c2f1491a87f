#include "copies.hpp"

#include <climits>
#include <cstdint>
#include <cstdlib>

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
        packed_(static_cast<char*>(std::malloc(bytes_))) {}
  ~PackedOnHost() {
    std::free(layout_);
    std::free(packed_);
  }
  PackedOnHost(PackedOnHost&&) = delete;

  bool pack(char* to) {
    int position = 0;
    return can_be_packed() && device_.copy(layout_, span_.begin, span_.bytes) &&
           reroute.mpi.pack(origin(), static_cast<int>(elements_), side_.type, packed_, static_cast<int>(bytes_),
                            &position, reroute.mpi.world) == MPI_SUCCESS &&
           device_.copy(to, packed_, bytes_);
  }
  bool unpack(const char* from) {
    int position = 0;
    return can_be_packed() && device_.copy(layout_, span_.begin, span_.bytes) && device_.copy(packed_, from, bytes_) &&
           reroute.mpi.unpack(packed_, static_cast<int>(bytes_), &position, origin(), static_cast<int>(elements_),
                              side_.type, reroute.mpi.world) == MPI_SUCCESS &&
           device_.copy(span_.begin, layout_, span_.bytes);
  }

 private:
  [[nodiscard]] bool can_be_packed() const {
    return layout_ != nullptr && packed_ != nullptr && elements_ <= INT_MAX && bytes_ <= INT_MAX;
  }
  [[nodiscard]] char* origin() const { return layout_ - side_.layout.true_lower_bound; }

  Device& device_;
  const Side& side_;
  Side::Span span_;
  std::uint64_t elements_;
  std::uint64_t bytes_;
  char* layout_;
  char* packed_;
};

}  // namespace

bool is_resident(const Side& side, const Device& device) {
  if (side.total() == 0) return true;
  if (!side.layout.is_dense()) return false;
  const preload::Memory memory = preload::memory_of(side.span().begin);
  return memory.kind == preload::MemoryKind::device && memory.device == device.number();
}

bool pack(Device& device, const Side& side, char* to) {
  for (int block = 0; block < side.blocks; ++block) {
    const std::uint64_t bytes = side.bytes(block);
    if (bytes == 0) continue;
    char* place = to + side.bytes_before(block);
    const bool is_copied = side.layout.is_dense() ? device.copy(place, side.address(block), bytes)
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
    const bool is_copied = side.layout.is_dense() ? device.copy(side.address(block), place, bytes)
                                                  : PackedOnHost(device, side, block).unpack(place);
    if (!is_copied) return false;
  }
  return true;
}

}  // namespace commlens::reroute
