#include "harness/ceiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "device/error.hpp"
#include "harness/pattern.hpp"

namespace commlens {

using device::Memory;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t rounds = 5;
constexpr double round_s = 2e-4;                            ///< a round is at least so long
constexpr std::size_t most_copies = 1000;                   ///< a round, for small sizes
constexpr std::size_t largest_copy = std::size_t{1} << 28;  ///< larger sizes are scaled from this one
/// On the host a copy is tried in pieces of this size too: memcpy writes long ones past the caches, which messages do
/// not.
constexpr std::size_t piece_bytes = std::size_t{32} << 10;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The stream that can touch both memories: a GPU's if either lies on it.
Memory stream_memory(Memory from, Memory to) { return on_gpu(from) ? from : (on_gpu(to) ? to : Memory::host); }

}  // namespace

Ceilings::Ceilings(const transport::Communicator& communicator, device::Device& device, const std::string& host)
    : communicator_(communicator),
      device_(device),
      hosts_(communicator.gather(host)),
      gpus_(communicator.gather(device.gpu() != nullptr ? device.gpu()->uuid : std::string())) {}

std::optional<measure::Ceiling> Ceilings::measure(const CopyCeiling& ceiling, Memory mine, Memory theirs) {
  const auto key = std::tuple(ceiling.bytes, ceiling.peer, ceiling.takes_part, ceiling.to_staging, mine, theirs);
  // Whether it is known is the same on all ranks: all measure it together.
  const auto known = known_.find(key);
  std::optional<measure::Ceiling> result;
  if (known != known_.end()) {
    result = known->second;
  } else {
    const Copy copy = plan(ceiling, mine, theirs);
    const bool impossible = !communicator_.first(ceiling.takes_part ? copy.reason : "").empty();
    const auto seconds = impossible ? std::nullopt : seconds_of(ceiling, copy);
    if (seconds) {
      const std::string name = communicator_.first(ceiling.takes_part ? copy.name : "");
      const auto copying = communicator_.sum(ceiling.takes_part ? 1 : 0);
      result = measure::Ceiling{
          .name = name,
          .method = fmt::format("{} of {} bytes, back to back, by {} rank{} at the same time; the best of {} rounds",
                                name, ceiling.bytes, copying, copying == 1 ? "" : "s", rounds),
          .seconds = *seconds,
          .copy_GBps = static_cast<double>(ceiling.bytes) / *seconds * 1e-9};
    }
    known_.emplace(key, result);
  }
  const double copies = communicator_.maximum(ceiling.copies);
  if (result) result->seconds *= copies;
  return result;
}

Ceilings::Copy Ceilings::plan(const CopyCeiling& ceiling, Memory mine, Memory theirs) {
  if (ceiling.to_staging) {
    const Memory from = on_gpu(mine) ? Memory::device : mine;
    return {"copy to host", "", &device_, from, device_.staging_memory()};
  }
  const auto peer = static_cast<std::size_t>(ceiling.peer);
  const auto self = static_cast<std::size_t>(communicator_.rank());
  Copy copy{.name = "memory copy", .reason = "", .destination = &device_, .from = mine, .to = theirs};
  if (hosts_[peer] != hosts_[self]) {
    copy.reason = "the ranks are on different nodes";
  } else if (on_gpu(mine) && on_gpu(theirs)) {
    copy.destination = gpus_[peer] == gpus_[self] ? &device_ : peer_device(gpus_[peer]);
    copy.name = gpus_[peer] == gpus_[self] ? "device copy" : "peer copy";
    if (copy.destination == nullptr) copy.reason = "the peer's GPU is not visible to this process";
    copy.from = copy.to = Memory::device;  // managed pages would measure their migration
  } else if (on_gpu(mine)) {
    copy.name = "copy to host";
    copy.from = Memory::device;
    copy.to = device_.staging_memory();  // pageable memory would measure the driver's own staging
  } else if (on_gpu(theirs)) {
    copy.name = "copy from host";
    copy.from = device_.staging_memory();
    copy.to = Memory::device;
    if (!device_.has(Memory::device)) copy.reason = "this rank has no GPU";
  }
  return copy;
}

device::Device* Ceilings::peer_device(const std::string& uuid) {
  if (!peers_.contains(uuid)) {
    std::unique_ptr<device::Device> peer;
    const auto visible = device::gpus();
    const auto found = std::find_if(visible.begin(), visible.end(), [&](const auto& gpu) { return gpu.uuid == uuid; });
    if (found != visible.end()) {
      peer = device::open_gpu(found->ordinal);
      device_.reach(*peer);  // where it cannot, the copy still works, through the host
    }
    peers_.emplace(uuid, std::move(peer));
  }
  return peers_.at(uuid).get();
}

namespace {

/// Two buffers and a stream that copies from one to the other.
struct Copier {
  device::Buffer source;
  device::Buffer destination;
  std::unique_ptr<device::Stream> stream;

  /// Seconds of each of `count` copies, each in pieces of at most `piece` bytes.
  [[nodiscard]] double time(std::size_t count, std::size_t piece) const {
    const std::size_t bytes = source.bytes();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t offset = 0; offset < bytes; offset += piece) {
        stream->copy(destination.as<std::byte>() + offset, source.as<std::byte>() + offset,
                     std::min(piece, bytes - offset));
      }
    }
    stream->wait();
    return seconds_since(start) / static_cast<double>(count);
  }
};

}  // namespace

std::optional<double> Ceilings::seconds_of(const CopyCeiling& ceiling, const Copy& copy) {
  const std::size_t bytes = std::min(ceiling.bytes, largest_copy);
  Copier copier;
  std::string problem;
  if (ceiling.takes_part) {
    try {
      copier = {device_.allocate(copy.from, bytes), copy.destination->allocate(copy.to, bytes),
                device_.stream(stream_memory(copy.from, copy.to))};
    } catch (const Error& error) {
      problem = error.what();
    }
  }
  if (!communicator_.first(problem).empty()) return std::nullopt;
  double estimate = 0;
  if (ceiling.takes_part) {
    copier.stream->fill(copier.source.data(), 1, bytes);  // pages that were never written are not copied like others
    copier.stream->fill(copier.destination.data(), 2, bytes);
    (void)copier.time(1, bytes);
    estimate = copier.time(1, bytes);
  }
  estimate = std::max(communicator_.maximum(estimate), 1e-9);
  const auto count = static_cast<std::size_t>(std::clamp(round_s / estimate, 1.0, static_cast<double>(most_copies)));
  const bool in_pieces = !on_gpu(copy.from) && !on_gpu(copy.to);
  double least = std::numeric_limits<double>::max();
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const std::size_t piece : {bytes, in_pieces ? piece_bytes : bytes}) {
      communicator_.barrier();  // all that copy do so at the same time; a round is as long as its slowest
      least = std::min(least, communicator_.maximum(ceiling.takes_part ? copier.time(count, piece) : 0.0));
    }
  }
  return least * static_cast<double>(ceiling.bytes) / static_cast<double>(bytes);
}

// ---- arithmetic ----

namespace {

constexpr std::size_t product_rounds = 5;
constexpr double product_round_s = 0.2;  ///< a round is at least so long: a GPU at work lowers its clocks soon
constexpr double long_enough_s = 0.05;   ///< a square product that takes longer is not doubled any more
constexpr std::size_t smallest_square = 512;
constexpr std::size_t largest_square = 16384;

}  // namespace

double Ceilings::seconds_of(const device::Gemm& gemm, device::Blas& blas, device::Stream& stream) {
  const auto time = [&](std::size_t count) {
    communicator_.barrier();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) blas.gemm(gemm, stream);
    stream.wait();
    return communicator_.maximum(seconds_since(start) / static_cast<double>(count));
  };
  (void)time(1);
  const auto count = static_cast<std::size_t>(std::max(1.0, product_round_s / std::max(time(1), 1e-6)));
  std::vector<double> seconds;
  for (std::size_t round = 0; round < product_rounds; ++round) {
    seconds.push_back(time(count));
    Run::alive();
  }
  return measure::summarize(seconds).median;
}

std::optional<measure::Ceiling> Ceilings::measure(const GemmCeiling& ceiling, device::Blas& blas, Memory memory) {
  const auto& gemm = ceiling.gemm;
  const auto key = std::tuple(gemm.type, gemm.m, gemm.n, gemm.k, gemm.tune);
  const auto known = known_products_.find(key);
  std::optional<measure::Ceiling> result;
  if (known != known_products_.end()) {
    result = known->second;
  } else if (gemm.a == nullptr) {
    result = square_product(gemm, blas, memory);
  } else {
    const auto stream = device_.stream(memory);
    const double seconds = seconds_of(gemm, blas, *stream);
    result = measure::Ceiling{
        .name = "block GEMM",
        .method = fmt::format("products of {} x {} x {}, {}{}, back to back, by all ranks at the same time; the median "
                              "of {} rounds",
                              gemm.m, gemm.n, gemm.k, name(gemm.type), gemm.tune ? ", tuned" : "", product_rounds),
        .gemm_TFLOPs = flops_of(gemm) / seconds * 1e-12,
        .library = true};
  }
  known_products_.emplace(key, result);
  if (result) result->seconds = ceiling.flops / (result->gemm_TFLOPs * 1e12);
  return result;
}

std::size_t Ceilings::sharers(Memory memory) const {
  const auto self = static_cast<std::size_t>(communicator_.rank());
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
    count += hosts_[rank] == hosts_[self] && (!on_gpu(memory) || gpus_[rank] == gpus_[self]) ? 1 : 0;
  }
  return count;
}

std::optional<measure::Ceiling> Ceilings::square_product(const device::Gemm& like, device::Blas& blas, Memory memory) {
  const auto stream = device_.stream(memory);
  std::optional<measure::Ceiling> best;
  for (std::size_t n = smallest_square; n <= largest_square; n *= 2) {
    const std::size_t reals = n * n * components(like.type);
    device::Buffer matrices;
    std::string problem;
    try {
      const std::size_t bytes = 3 * n * n * size_of(like.type);
      if (bytes * sharers(memory) > device_.available(memory) / 10 * 9) throw Error("no room");
      matrices = device_.allocate(memory, bytes);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (!communicator_.first(problem).empty()) break;
    pattern::write_numbers(*stream, matrices.data(), 2 * reals, like.type, n);
    auto* const a = matrices.as<std::byte>();
    const std::size_t bytes = n * n * size_of(like.type);
    const device::Gemm square{.type = like.type,
                              .b_operation = device::Operation::adjoint,
                              .m = n,
                              .n = n,
                              .k = n,
                              .a = a,
                              .lda = n,
                              .b = a + bytes,
                              .ldb = n,
                              .c = a + 2 * bytes,
                              .ldc = n};
    const double seconds = seconds_of(square, blas, *stream);
    const double rate = flops_of(square) / seconds * 1e-12;
    if (!best || rate > best->gemm_TFLOPs) {
      best = measure::Ceiling{
          .name = "square GEMM",
          .method =
              fmt::format("products of {0} x {0} x {0}, {1}, every bit of the numbers in use, back to back, by all "
                          "ranks at the same time; the median of {2} rounds",
                          n, name(like.type), product_rounds),
          .gemm_TFLOPs = rate};
    }
    if (seconds > long_enough_s) break;
  }
  return best;
}

}  // namespace commlens
