#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "harness/ceiling.hpp"

namespace commlens {

using device::Memory;

namespace {

constexpr double round_s = 2e-4;
constexpr std::size_t largest_copy = std::size_t{1} << 28;  ///< larger sizes are scaled from this one
constexpr std::size_t piece_bytes = std::size_t{32} << 10;

}  // namespace

double Copier::time(std::size_t count, CopyWay way) const {
  const std::size_t bytes = source.bytes();
  const std::size_t piece = way == CopyWay::whole ? bytes : std::min(bytes, piece_bytes);
  const Stopwatch stopwatch;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t offset = 0; offset < bytes; offset += piece) {
      auto* const to = destination.as<std::byte>() + (way == CopyWay::out ? 0 : offset);
      const auto* const from = source.as<std::byte>() + (way == CopyWay::in ? 0 : offset);
      const std::size_t length = std::min(piece, bytes - offset);
      if (stream->on_gpu()) {
        stream->copy(to, from, length);
      } else {
        std::memcpy(to, from, length);
      }
    }
  }
  stream->wait();
  return stopwatch.seconds() / static_cast<double>(count);
}

Ceilings::Ceilings(const transport::Communicator& communicator, device::Device& device,
                   const std::vector<measure::Placement>& placement, TcpStream::Settings streams)
    : communicator_(communicator), device_(device), placement_(placement), stream_settings_(streams) {
  for (const measure::Placement& place : placement) {
    hosts_.push_back(place.host);
    gpus_.push_back(place.gpu ? place.gpu->uuid : "");
  }
}

Ceilings::Outcome Ceilings::measure(const CopyCeiling& ceiling, Memory mine, Memory theirs, CaseTime case_s) {
  Copy copy = plan(ceiling, mine, theirs);
  copy.some_on_gpu = communicator_.sum(ceiling.takes_part && (on_gpu(copy.from) || on_gpu(copy.to)) ? 1 : 0) > 0;
  copy.some_away = communicator_.sum(ceiling.takes_part && copy.to_another_node ? 1 : 0) > 0;
  Outcome result = best_copy(ceiling, copy, case_s);
  if (!result.ceiling || copy.some_away || ceiling.bytes >= largest_copy || !copy.some_on_gpu) return result;
  // A library may send many messages as fast as a large one, which copies do not reach at their size.
  CopyCeiling large = ceiling;
  large.copies *= static_cast<double>(ceiling.bytes) / static_cast<double>(largest_copy);
  large.bytes = largest_copy;
  Outcome plateau = best_copy(large, copy, case_s);
  return plateau.ceiling && plateau.ceiling->seconds < result.ceiling->seconds ? plateau : result;
}

Ceilings::Outcome Ceilings::best_copy(const CopyCeiling& ceiling, const Copy& copy, CaseTime case_s) {
  // Who copies what to whom may have changed for some ranks only, and all measure it together.
  std::vector<std::string> key = communicator_.gather(fmt::format(
      "{} {:d} {:d} {} {}", ceiling.peer, ceiling.takes_part, ceiling.to_staging, name(copy.from), name(copy.to)));
  key.push_back(std::to_string(ceiling.bytes));
  const auto [known, is_new] = known_.try_emplace(key);
  Outcome& best = known->second;
  if (is_new) best.reason = communicator_.first(ceiling.takes_part ? copy.reason : "");
  if (ceiling.bytes == 0 || communicator_.sum(ceiling.takes_part ? 1 : 0) == 0) best.reason = "nothing is sent";
  if (best.reason.empty() && (is_new || (case_s && !copy.some_away))) {
    const auto limits = is_new ? measure::limits_from_idle(copy.some_on_gpu) : measure::limits_after(*case_s);
    const Outcome outcome = copy.some_away ? between_nodes(ceiling, copy) : measure_copy(ceiling, copy, limits);
    const bool is_better = outcome.ceiling && best.ceiling && outcome.ceiling->seconds < best.ceiling->seconds;
    if (is_new || is_better) best = outcome;
  }
  Outcome result = best;
  const double copies = communicator_.maximum(ceiling.copies);
  if (!result.ceiling) return result;
  result.ceiling->seconds *= copies;
  result.ceiling->part = ceiling.part;
  return result;
}

Ceilings::Outcome Ceilings::measure_copy(const CopyCeiling& ceiling, const Copy& copy,
                                         const measure::PeakLimits& limits) {
  const auto seconds = seconds_of(ceiling.takes_part, ceiling.bytes, copy, limits);
  if (!seconds) return {.ceiling = std::nullopt, .reason = "a rank has no room for the copies"};
  const std::string name = communicator_.first(ceiling.takes_part ? copy.name : "");
  const auto copying = communicator_.sum(ceiling.takes_part ? 1 : 0);
  const double rate = static_cast<double>(ceiling.bytes) / *seconds * 1e-9;
  const auto method = fmt::format("{} of {} bytes, back to back, by {} rank{} at the same time; the best round", name,
                                  std::min(ceiling.bytes, largest_copy), copying, copying == 1 ? "" : "s");
  return {.ceiling = measure::Ceiling{.name = name, .method = method, .seconds = *seconds, .rate = rate}, .reason = ""};
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
    for (const auto& gpu : device::gpus()) {
      if (gpu.uuid == uuid) peer = device::open_gpu(gpu.ordinal);
    }
    if (peer) device_.reach(*peer);  // where it cannot, the copy still works, through the host
    peers_.emplace(uuid, std::move(peer));
  }
  return peers_.at(uuid).get();
}

std::optional<Copier> Ceilings::copier(bool copies, const Copy& copy, std::size_t bytes) {
  Copier copier;
  const std::string problem = problem_of([&] {
    if (!copies) return;
    copier = {device_.allocate(copy.from, bytes), copy.destination->allocate(copy.to, bytes),
              device_.stream(on_gpu(copy.from) ? copy.from : copy.to)};
  });
  if (!communicator_.first(problem).empty()) return std::nullopt;
  if (!copies) return copier;
  for (const device::Buffer* buffer : {&copier.source, &copier.destination}) {
    // Pages that were never written are not copied like others.
    copier.stream->fill(buffer->data(), 1, buffer->bytes());
  }
  (void)copier.time(1);
  return copier;
}

std::optional<double> Ceilings::seconds_of(bool copies, std::size_t wanted, const Copy& copy,
                                           const measure::PeakLimits& limits) {
  const std::size_t bytes = std::min(wanted, largest_copy);
  const auto made = copier(copies, copy, bytes);
  if (!made) return std::nullopt;
  std::vector<Way> ways;
  for (const CopyWay way : {CopyWay::whole, CopyWay::pieces, CopyWay::out, CopyWay::in}) {
    if (way != CopyWay::whole && copy.some_on_gpu) break;
    ways.push_back({.work = static_cast<double>(bytes), .repeat = [&made, copies, way](std::size_t count) {
                      if (copies) (void)made->time(count, way);
                    }});
  }
  const auto rates = peak_rates(ways, round_s, limits);
  double rate = rates.front();
  if (rates.size() > 1) rate = std::max({rate, rates[1], std::min(rates[2], rates[3])});  // out and in at the same time
  return static_cast<double>(wanted) / rate;
}

}  // namespace commlens
