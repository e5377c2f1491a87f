#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "harness/ceiling.hpp"
#include "harness/placement.hpp"
#include "harness/run.hpp"

namespace commlens {

namespace {

/// A round's messages over those that are sent before it: a connection has then found its rate, and a rate limiter has
/// let through what it lets through at once.
constexpr std::size_t lead_share = 3;
constexpr std::size_t stream_rounds = 3;
constexpr double first_bytes = 256 << 10;                   ///< of the first round, by which the others are chosen
constexpr std::size_t small_bytes = std::size_t{64} << 10;  ///< larger messages share one measurement and are scaled
constexpr std::size_t large_message_bytes = std::size_t{128} << 10;  ///< of the messages by which those are measured

std::string others_copied(bool some) { return some ? "; ranks whose peer is on their node copy at the same time" : ""; }

}  // namespace

Ceilings::Outcome Ceilings::between_nodes(const CopyCeiling& ceiling, const Copy& copy) {
  const int peer = ceiling.takes_part && copy.to_another_node ? ceiling.peer : -1;
  std::vector<int> peers;  // by rank
  for (const std::string& text : communicator_.gather(std::to_string(peer))) peers.push_back(std::stoi(text));
  bool rdma = true;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    if (peers[rank] < 0) continue;
    rdma = rdma && has_rdma(placement_[rank]) && has_rdma(placement_[static_cast<std::size_t>(peers[rank])]);
  }
  return rdma ? link_rate(ceiling, copy, peers) : tcp_stream(ceiling, copy, peers);
}

Ceilings::Outcome Ceilings::link_rate(const CopyCeiling& ceiling, const Copy& copy, const std::vector<int>& peers) {
  const auto bytes = static_cast<double>(ceiling.bytes);
  const auto nominal = seconds_at_link_rate(placement_, peers, bytes);
  if (!nominal) return {.ceiling = std::nullopt, .reason = "the driver does not say the rate of a network adapter"};
  const bool copies = ceiling.takes_part && !copy.to_another_node;
  const bool some_copy = communicator_.sum(copies ? 1 : 0) > 0;
  const auto copying =
      some_copy ? seconds_of(copies, ceiling.bytes, copy, measure::limits_from_idle(copy.some_on_gpu)) : 0.0;
  const double seconds = std::max(*nominal, copying.value_or(0.0));
  const auto sending = std::count_if(peers.begin(), peers.end(), [](int peer) { return peer >= 0; });
  return {.ceiling =
              measure::Ceiling{
                  .name = "link rate",
                  .method = fmt::format("nominal, not measured: {} bytes at the rates of the network adapters that are "
                                        "nearest to the ranks, divided among the {} rank{} that send at the same "
                                        "time{}",
                                        ceiling.bytes, sending, sending == 1 ? "" : "s", others_copied(some_copy)),
                  .seconds = seconds,
                  .rate = bytes / seconds * 1e-9},
          .reason = ""};
}

Ceilings::Outcome Ceilings::tcp_stream(const CopyCeiling& ceiling, const Copy& copy, const std::vector<int>& peers) {
  const int peer = peers.at(static_cast<std::size_t>(communicator_.rank()));
  Stream& stream = streams_[peers];
  if (!stream.connections) stream.connections = std::make_unique<TcpStream>(communicator_, peer, stream_settings_);
  if (!stream.connections->problem().empty()) return {.ceiling = {}, .reason = stream.connections->problem()};
  const bool copies = ceiling.takes_part && !copy.to_another_node;
  const bool large = ceiling.bytes > small_bytes;
  const std::size_t bytes = large ? large_message_bytes : ceiling.bytes;
  std::optional<double> seconds;
  if (large && stream.seconds_per_byte) {
    seconds = *stream.seconds_per_byte * static_cast<double>(bytes);
  } else {
    seconds = seconds_of_stream(*stream.connections, copies, bytes, copy);
  }
  if (!seconds) return {.ceiling = {}, .reason = "a TCP connection broke, or a rank has no room for its copies"};
  const double per_byte = *seconds / static_cast<double>(bytes);
  if (large) stream.seconds_per_byte = per_byte;
  const auto sending = communicator_.sum(peer >= 0 ? 1 : 0);
  const bool some_copy = communicator_.sum(copies ? 1 : 0) > 0;
  const std::string name = "TCP stream over " + communicator_.first(stream.connections->interface());
  return {
      .ceiling = measure::Ceiling{.name = name,
                                  .method = fmt::format(
                                      "{}, from host memory, messages of {} bytes back to back{}, by {} rank{} at the "
                                      "same time{}; the best of {} rounds of about {:g} s",
                                      name, bytes, large ? " and scaled" : "", sending, sending == 1 ? "" : "s",
                                      others_copied(some_copy), stream_rounds, stream_settings_.round_s),
                                  .seconds = per_byte * static_cast<double>(ceiling.bytes),
                                  .rate = 1e-9 / per_byte},
      .reason = ""};
}

std::optional<double> Ceilings::seconds_of_stream(TcpStream& stream, bool copies, std::size_t bytes, const Copy& copy) {
  const auto made = copier(copies, copy, bytes);
  if (!made) return std::nullopt;
  std::string problem;
  // The slowest rank's seconds of a message, and of its copies.
  const auto round = [&](std::size_t lead, std::size_t messages, std::size_t copied) {
    communicator_.barrier();
    double seconds = 0;
    problem = communicator_.first(problem_of([&] {
      const auto transfer = [&] { return stream.transfer(lead, messages, bytes) / static_cast<double>(messages); };
      if (copied == 0) {
        seconds = transfer();
      } else {
        auto transferred = std::async(std::launch::async, transfer);
        const double copying = made->time(copied);
        seconds = std::max(transferred.get(), copying);
      }
    }));
    heartbeat();
    return communicator_.maximum(seconds);
  };

  const double round_s = stream_settings_.round_s;
  auto messages = std::max<std::size_t>(1, static_cast<std::size_t>(first_bytes) / bytes);
  double seconds = round(0, messages, 0);
  while (problem.empty() && seconds * static_cast<double>(messages) < round_s / 2) {
    const double factor = std::clamp(round_s / (seconds * static_cast<double>(messages)), 2.0, 8.0);
    messages = static_cast<std::size_t>(static_cast<double>(messages) * factor);
    seconds = round(0, messages, 0);
  }
  messages = std::max<std::size_t>(1, static_cast<std::size_t>(round_s / std::max(seconds, 1e-9)));
  const double of_a_copy = copies ? std::max(made->time(1), 1e-9) : 0;
  const std::size_t copied = copies ? static_cast<std::size_t>(round_s / of_a_copy) + 1 : 0;
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < stream_rounds && problem.empty(); ++i) {
    least = std::min(least, round(messages / lead_share + 1, messages, copied));
  }
  if (!problem.empty()) return std::nullopt;
  return least;
}

}  // namespace commlens
