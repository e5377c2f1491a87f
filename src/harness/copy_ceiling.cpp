#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "harness/ceiling.hpp"

namespace commlens {

using device::Memory;

namespace {

constexpr std::size_t rounds = 5;
constexpr double round_s = 2e-4;                            ///< a round is at least so long
constexpr std::size_t most_copies = 1000;                   ///< a round, for small sizes
constexpr std::size_t largest_copy = std::size_t{1} << 28;  ///< larger sizes are scaled from this one
/// On the host a copy is tried in pieces of this size too: memcpy writes long ones past the caches, which messages do
/// not.
constexpr std::size_t piece_bytes = std::size_t{32} << 10;

/// The stream that can touch both memories: a GPU's if either is on it.
Memory stream_memory(Memory from, Memory to) { return on_gpu(from) ? from : (on_gpu(to) ? to : Memory::host); }

}  // namespace

Ceilings::Ceilings(const transport::Communicator& communicator, device::Device& device,
                   const std::vector<measure::Placement>& placement, TcpStream::Settings streams)
    : communicator_(communicator), device_(device), placement_(placement), stream_settings_(streams) {
  for (const measure::Placement& place : placement) {
    hosts_.push_back(place.host);
    gpus_.push_back(place.gpu ? place.gpu->uuid : "");
  }
}

Ceilings::Outcome Ceilings::measure(const CopyCeiling& ceiling, Memory mine, Memory theirs) {
  // Who copies what to whom may have changed for some ranks only, and all measure it together.
  std::vector<std::string> key{std::to_string(ceiling.bytes)};
  for (const std::string& one : communicator_.gather(fmt::format("{} {:d} {:d} {} {}", ceiling.peer, ceiling.takes_part,
                                                                 ceiling.to_staging, name(mine), name(theirs)))) {
    key.push_back(one);
  }
  const auto known = known_.find(key);
  Outcome result;
  if (known != known_.end()) {
    result = known->second;
  } else {
    const Copy copy = plan(ceiling, mine, theirs);
    result.reason = communicator_.first(ceiling.takes_part ? copy.reason : "");
    const bool away = communicator_.sum(ceiling.takes_part && copy.to_another_node ? 1 : 0) > 0;
    if (result.reason.empty()) result = away ? between_nodes(ceiling, copy) : measure_copy(ceiling, copy);
    known_.emplace(key, result);
  }
  const double copies = communicator_.maximum(ceiling.copies);
  if (!result.ceiling) return result;
  result.ceiling->seconds *= copies;
  result.ceiling->part = ceiling.part;
  return result;
}

Ceilings::Outcome Ceilings::measure_copy(const CopyCeiling& ceiling, const Copy& copy) {
  const auto seconds = seconds_of(ceiling.takes_part, ceiling.bytes, copy);
  if (!seconds) return {.ceiling = std::nullopt, .reason = "a rank has no room for the copies"};
  const std::string name = communicator_.first(ceiling.takes_part ? copy.name : "");
  const auto copying = communicator_.sum(ceiling.takes_part ? 1 : 0);
  return {.ceiling =
              measure::Ceiling{.name = name,
                               .method = fmt::format(
                                   "{} of {} bytes, back to back, by {} rank{} at the same time; the best of {} rounds",
                                   name, ceiling.bytes, copying, copying == 1 ? "" : "s", rounds),
                               .seconds = *seconds,
                               .rate = static_cast<double>(ceiling.bytes) / *seconds * 1e-9},
          .reason = ""};
}

Ceilings::Copy Ceilings::plan(const CopyCeiling& ceiling, Memory mine, Memory theirs) {
  if (ceiling.to_staging) {
    const Memory from = on_gpu(mine) ? Memory::device : mine;
    return {.name = "copy to host", .destination = &device_, .from = from, .to = device_.staging_memory()};
  }
  const auto peer = static_cast<std::size_t>(ceiling.peer);
  const auto self = static_cast<std::size_t>(communicator_.rank());
  Copy copy{.name = "memory copy", .destination = &device_, .from = mine, .to = theirs};
  if (hosts_[peer] != hosts_[self]) {
    copy.to_another_node = true;
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

std::optional<Copier> Ceilings::copier(bool copies, const Copy& copy, std::size_t bytes) {
  Copier copier;
  std::string problem;
  if (copies) {
    try {
      copier = {device_.allocate(copy.from, bytes), copy.destination->allocate(copy.to, bytes),
                device_.stream(stream_memory(copy.from, copy.to))};
    } catch (const Error& error) {
      problem = error.what();
    }
  }
  if (!communicator_.first(problem).empty()) return std::nullopt;
  if (copies) copier.touch();
  return copier;
}

std::optional<double> Ceilings::seconds_of(bool copies, std::size_t wanted, const Copy& copy) {
  const std::size_t bytes = std::min(wanted, largest_copy);
  const auto made = copier(copies, copy, bytes);
  if (!made) return std::nullopt;
  const Copier& copier = *made;
  double estimate = 0;
  if (copies) estimate = copier.time(1, bytes);
  estimate = std::max(communicator_.maximum(estimate), 1e-9);
  const auto count = static_cast<std::size_t>(std::clamp(round_s / estimate, 1.0, static_cast<double>(most_copies)));
  const bool in_pieces = !on_gpu(copy.from) && !on_gpu(copy.to);
  double least = std::numeric_limits<double>::max();
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const std::size_t piece : {bytes, in_pieces ? piece_bytes : bytes}) {
      communicator_.barrier();  // all that copy do so at the same time; a round is as long as its slowest
      least = std::min(least, communicator_.maximum(copies ? copier.time(count, piece) : 0.0));
    }
  }
  return least * static_cast<double>(wanted) / static_cast<double>(bytes);
}

}  // namespace commlens
