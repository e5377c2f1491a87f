#include "benchmarks/message_layout.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens {

namespace {

/// What blocks are copied in by a GPU: their lengths and places are multiples of it.
std::size_t unit_of(const BlockPlaces& places) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  return places.block % word == 0 && places.stride % word == 0 ? word : 1;
}

/// Where a block begins.
COMMLENS_FUNCTION inline std::size_t begin_of(const BlockPlaces& places, std::size_t unit, std::size_t index) {
  const std::size_t choices = (places.stride - places.block) / unit + 1;
  return index * places.stride + (places.indexed ? pattern::mix(index, 1) % choices * unit : 0);
}

COMMLENS_FUNCTION inline bool is_in_gap(const BlockPlaces& places, std::size_t unit, std::size_t byte) {
  const std::size_t begin = begin_of(places, unit, byte / places.stride);
  return byte < begin || byte >= begin + places.block;
}

template <class Word>
void copy_words(device::Stream& stream, const BlockPlaces& places, void* blocks, void* packed, std::size_t bytes,
                BlockCopy copy) {
  auto* in_blocks = static_cast<Word*>(blocks);
  auto* contiguous = static_cast<Word*>(packed);
  const std::size_t words = places.block / sizeof(Word);
  device::launch(
      stream, bytes / sizeof(Word), COMMLENS_LAMBDA(std::size_t i) {
        const std::size_t at = begin_of(places, sizeof(Word), i / words) / sizeof(Word) + i % words;
        if (copy == BlockCopy::pack) {
          contiguous[i] = in_blocks[at];
        } else {
          in_blocks[at] = contiguous[i];
        }
      });
}

void copy_on_host(const BlockPlaces& places, std::byte* blocks, std::byte* packed, std::size_t bytes, BlockCopy copy) {
  const std::size_t unit = unit_of(places);
  for (std::size_t i = 0; i < bytes / places.block; ++i, packed += places.block) {
    std::byte* const block = blocks + begin_of(places, unit, i);
    if (copy == BlockCopy::pack) {
      std::memcpy(packed, block, places.block);
    } else {
      std::memcpy(block, packed, places.block);
    }
  }
}

using Copies = std::function<void(device::Stream& stream)>;

class PackedExchange final : public transport::Exchange {
 public:
  PackedExchange(std::unique_ptr<transport::Exchange> messages, Copies pack, Copies unpack)
      : messages_(std::move(messages)), pack_(std::move(pack)), unpack_(std::move(unpack)) {}

  void start(device::Stream& stream) override {
    pack_(stream);
    messages_->start(stream);
  }
  void finish(device::Stream& stream) override {
    messages_->finish(stream);
    unpack_(stream);
  }

 private:
  std::unique_ptr<transport::Exchange> messages_;
  Copies pack_;
  Copies unpack_;
};

}  // namespace

void LayoutOptions::describe(OptionSet& options) {
  const auto only_with_gaps = [this](std::size_t value) {
    return has_gaps() ? std::optional<measure::Value>(static_cast<std::int64_t>(value)) : std::nullopt;
  };
  options
      .add("layout", layout, "where the bytes of a message are: in blocks at a constant distance, or an irregular one")
      .shown_as([this] { return std::string(name(layout.value_or(Layout::contiguous))); });
  options.add("block", block, "bytes of a block").recorded_as([this, only_with_gaps] { return only_with_gaps(block); });
  options.add("stride", stride, "bytes of a block and a gap").recorded_as([this, only_with_gaps] {
    return only_with_gaps(stride);
  });
  options.add("packing", packing, "who packs the blocks: the MPI library, by a derived datatype, or the application")
      .shown_as([this] { return std::string(name(packing.value_or(Packing::library))); });
}

void LayoutOptions::resolve(const Sizes& sizes) const {
  if (!has_gaps()) {
    if (packing) throw UsageError("packing", std::string(name(*packing)), "write --layout vector or indexed, too");
    return;
  }
  if (stride < block) {
    throw UsageError(
        "stride", std::to_string(stride),
        "blocks of " + std::to_string(block) + " B would overlap; write at least --stride " + std::to_string(block));
  }
  if (stride > std::size_t{1} << 30) throw UsageError("stride", std::to_string(stride), "write at most 1G");
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  for (const std::size_t size : sizes.values) {
    if (size > block && size % block != 0) {
      throw UsageError(
          "bytes", std::to_string(size),
          "no multiple of --block " + std::to_string(block) + "; begin with --bytes " + std::to_string(block));
    }
    if (block > most || size / block > most) {
      throw UsageError("block", std::to_string(block),
                       "MPI counts blocks and their bytes in an int; write another --block");
    }
  }
}

BlockPlaces LayoutOptions::places(std::size_t bytes) const {
  return {.block = std::min(block, bytes), .stride = stride, .indexed = layout == Layout::indexed};
}

std::size_t LayoutOptions::extent(std::size_t bytes) const {
  return has_gaps() ? bytes / places(bytes).block * stride : bytes;
}

transport::Blocks LayoutOptions::blocks(std::size_t bytes) const {
  if (!has_gaps() || packs()) return {};
  const BlockPlaces where = places(bytes);
  transport::Blocks blocks{.bytes = where.block, .stride = where.stride, .offsets = {}};
  if (!where.indexed) return blocks;
  for (std::size_t i = 0; i < bytes / where.block; ++i) {
    blocks.offsets.push_back(begin_of(where, unit_of(where), i));
  }
  return blocks;
}

void copy_blocks(device::Stream& stream, const BlockPlaces& places, void* blocks, void* packed, std::size_t bytes,
                 BlockCopy copy) {
  if (!stream.on_gpu()) {
    return stream.enqueue(
        [=] { copy_on_host(places, static_cast<std::byte*>(blocks), static_cast<std::byte*>(packed), bytes, copy); });
  }
  if (unit_of(places) > 1) return copy_words<std::uint64_t>(stream, places, blocks, packed, bytes, copy);
  copy_words<unsigned char>(stream, places, blocks, packed, bytes, copy);
}

std::unique_ptr<transport::Exchange> packed(std::unique_ptr<transport::Exchange> messages, Copies pack, Copies unpack) {
  return std::make_unique<PackedExchange>(std::move(messages), std::move(pack), std::move(unpack));
}

Verdict expect_blocks(device::Stream& stream, const BlockPlaces& places, const device::Buffer& buffer,
                      std::uint64_t seed) {
  const auto* content = buffer.as<unsigned char>();
  const std::size_t unit = unit_of(places);
  const auto expected = COMMLENS_LAMBDA(std::size_t i) {
    const unsigned char byte = pattern::byte_at(i, seed);
    return is_in_gap(places, unit, i) ? static_cast<unsigned char>(~byte) : byte;
  };
  const std::size_t wrong =
      device::find_first(stream, buffer.bytes(), COMMLENS_LAMBDA(std::size_t i) { return content[i] != expected(i); });
  if (wrong == buffer.bytes()) return {.elements = buffer.bytes()};
  return {.elements = buffer.bytes(),
          .error = (is_in_gap(places, unit, wrong) ? "the gap at byte " : "byte ") + std::to_string(wrong) + " of " +
                   std::to_string(buffer.bytes()) + " is " + std::to_string(device::download(content + wrong, stream)) +
                   ", must be " + std::to_string(expected(wrong))};
}

}  // namespace commlens
