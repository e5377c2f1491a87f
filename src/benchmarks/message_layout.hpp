// Messages whose bytes are in blocks with gaps between them: the columns of a matrix, the faces of a mesh.
//
// The MPI library sends them by a derived datatype, or the application packs them: copies them to a contiguous buffer,
// by a loop on the host or a kernel on a GPU, and sends that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/enum_names.hpp"
#include "device/device.hpp"
#include "harness/benchmark.hpp"
#include "transport/transport.hpp"

namespace commlens {

/// One after the other; at a constant distance; or at irregular distances.
enum class Layout { contiguous, vector, indexed };
ENUM_NAMES(Layout, {contiguous, "contiguous"}, {vector, "vector"}, {indexed, "indexed"});

enum class Packing { library, application };
ENUM_NAMES(Packing, {library, "library"}, {application, "application"});

/// Of messages with gaps.
struct BlockPlaces {
  std::size_t block = 0;
  std::size_t stride = 0;  ///< each has a block, if indexed somewhere in it
  bool indexed = false;
};

struct LayoutOptions {
  std::optional<Layout> layout;
  std::size_t block = 8;
  std::size_t stride = 16;
  std::optional<Packing> packing;

  void describe(OptionSet& options);
  /// Throws UsageError for blocks that overlap, or that messages have no whole number of.
  void resolve(const Sizes& sizes) const;

  [[nodiscard]] bool has_gaps() const { return layout.value_or(Layout::contiguous) != Layout::contiguous; }
  [[nodiscard]] bool packs() const { return has_gaps() && packing == Packing::application; }
  /// Of a message with so many bytes of data; short ones are one block.
  [[nodiscard]] BlockPlaces places(std::size_t bytes) const;
  /// Bytes of memory from the first block of a message to its last gap.
  [[nodiscard]] std::size_t extent(std::size_t bytes) const;
  /// For the MPI library; none where it does not pack.
  [[nodiscard]] transport::Blocks blocks(std::size_t bytes) const;
};

/// From blocks to contiguous memory, or back.
enum class BlockCopy { pack, unpack };

/// Queues the copy of a message with so many bytes of data.
void copy_blocks(device::Stream& stream, const BlockPlaces& places, void* blocks, void* packed, std::size_t bytes,
                 BlockCopy copy);

/// The messages, between `pack` and `unpack`, which copy the blocks of all of them.
std::unique_ptr<transport::Exchange> packed(std::unique_ptr<transport::Exchange> messages,
                                            std::function<void(device::Stream& stream)> pack,
                                            std::function<void(device::Stream& stream)> unpack);

/// Whether the blocks have what pattern::write_bytes() writes, and the gaps what pattern::poison_bytes() writes. Waits
/// for the stream.
Verdict expect_blocks(device::Stream& stream, const BlockPlaces& places, const device::Buffer& buffer,
                      std::uint64_t seed);

}  // namespace commlens
