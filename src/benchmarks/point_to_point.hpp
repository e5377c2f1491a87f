// What the four point-to-point benchmarks share: pairs of ranks, their options, and messages that can be told apart.
//
// Rank i < pairs sends to, or starts with, rank i + pairs, as in the OSU micro-benchmarks. A rank has one buffer for
// what it sends and one for what it receives, and all messages of a window use the same two, as there.
#pragma once

#include <optional>
#include <string>

#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"
#include "harness/usage_error.hpp"

namespace commlens {

inline constexpr std::size_t small_message = 8192;  ///< bytes; OSU repeats messages up to this size more often

struct PairOptions {
  Sizes bytes{1, 4_MiB};
  std::optional<device::Memory> from;
  std::optional<device::Memory> to;
  std::size_t pairs = 1;

  void describe(OptionSet& options) {
    options.add("bytes", bytes, "size or sizes of a message: 4096, 8:1G (times 2), 8:1G:x8");
    // The record's memory says the same.
    options.add("from", from, "memory kind of the first half of the ranks").role(measure::Role::derived);
    options.add("to", to, "memory kind of the second half").role(measure::Role::derived);
    options.add("pairs", pairs, "pairs of ranks at the same time: rank i with rank i + pairs");
  }

  void resolve(int ranks) const {
    if (static_cast<std::size_t>(ranks) == 2 * pairs) return;
    throw UsageError("ranks", std::to_string(ranks),
                     std::to_string(pairs) + (pairs == 1 ? " pair needs " : " pairs need ") +
                         std::to_string(2 * pairs) + " ranks; start with --ranks " + std::to_string(2 * pairs) +
                         (ranks > 1 && ranks % 2 == 0 ? " or with --pairs " + std::to_string(ranks / 2) : ""));
  }

  [[nodiscard]] device::Memory memory(int rank, int ranks, device::Memory chosen) const {
    return rank < ranks / 2 ? from.value_or(chosen) : to.value_or(chosen);
  }

  static constexpr std::size_t acknowledgement = 4;  ///< bytes of the message that answers a window
};

/// For the benchmarks that send windows of messages.
struct WindowOptions : PairOptions {
  std::size_t window = 64;

  void describe(OptionSet& options) {
    PairOptions::describe(options);
    options.add("window", window, "messages under way at the same time");
  }

  void resolve(int ranks) const {
    constexpr std::size_t most = 1'000'000;  // each message is a request of the MPI library
    if (window > most) throw UsageError("window", std::to_string(window), "write at most " + std::to_string(most));
    PairOptions::resolve(ranks);
  }

  [[nodiscard]] std::string operation() const { return "window of " + std::to_string(window) + " messages"; }
};

/// This rank's half of a pair.
class Pair {
 public:
  Pair(Run& run, const PairOptions& options)
      : run_(run),
        bytes_(options.bytes),
        first_(run.rank() < run.ranks() / 2),
        peer_(first_ ? run.rank() + run.ranks() / 2 : run.rank() - run.ranks() / 2),
        outgoing_(run.buffer(options.bytes)),
        incoming_(run.buffer(options.bytes)) {}

  [[nodiscard]] bool first() const { return first_; }
  [[nodiscard]] int peer() const { return peer_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const device::Buffer& outgoing() const { return outgoing_; }
  [[nodiscard]] const device::Buffer& incoming() const { return incoming_; }

  void send() { run_.transport().send(outgoing_.data(), bytes_, peer_, run_.stream()); }
  void receive() { run_.transport().receive(incoming_.data(), bytes_, peer_, run_.stream()); }

  /// A message that depends on its size, the round and the sender; where one will come, every byte is wrong beforehand.
  void reset(std::size_t round) {
    pattern::write_bytes(run_.stream(), outgoing_, message(round, run_.rank()));
    pattern::poison_bytes(run_.stream(), incoming_, message(round, peer_));
  }

  [[nodiscard]] Verdict verify(std::size_t round) {
    return pattern::expect_bytes(run_.stream(), incoming_, message(round, peer_));
  }

 private:
  [[nodiscard]] std::uint64_t message(std::size_t round, int sender) const {
    return pattern::seed(bytes_, round, static_cast<std::uint64_t>(sender));
  }

  Run& run_;
  std::size_t bytes_;
  bool first_;
  int peer_;
  device::Buffer outgoing_;
  device::Buffer incoming_;
};

/// A window of messages one way, answered by a short one: what bandwidth and message-rate repeat.
class Window {
 public:
  Window(Run& run, Pair& pair, std::size_t messages)
      : run_(run),
        pair_(pair),
        answer_(run.buffer(PairOptions::acknowledgement)),
        exchange_(run.transport().exchange(messages_if(pair.first(), messages, pair.outgoing()),
                                           messages_if(!pair.first(), messages, pair.incoming()))) {}

  void operate() {
    auto& stream = run_.stream();
    exchange_->run(stream);
    if (pair_.first()) {
      run_.transport().receive(answer_.data(), answer_.bytes(), pair_.peer(), stream);
    } else {
      run_.transport().send(answer_.data(), answer_.bytes(), pair_.peer(), stream);
    }
  }

  /// Only the second half of a pair receives something to compare.
  [[nodiscard]] Verdict verify(std::size_t round) { return pair_.first() ? Verdict{} : pair_.verify(round); }

 private:
  [[nodiscard]] std::vector<transport::Message> messages_if(bool wanted, std::size_t count,
                                                            const device::Buffer& buffer) const {
    if (!wanted) return {};
    return std::vector<transport::Message>(count, {pair_.peer(), buffer.data(), pair_.bytes()});
  }

  Run& run_;
  Pair& pair_;
  device::Buffer answer_;
  std::unique_ptr<transport::Exchange> exchange_;
};

/// OSU's repetitions, in ten batches: 10,000 round trips up to 8 KiB and 1,000 above.
inline measure::Repetition ping_pong_repetition(std::size_t bytes) {
  return bytes <= small_message ? measure::Repetition{.repeat = 1000, .warmup = 100, .batches = 10}
                                : measure::Repetition{.repeat = 100, .warmup = 10, .batches = 10};
}

/// 100 windows up to 8 KiB and 20 above.
inline measure::Repetition window_repetition(std::size_t bytes) {
  return bytes <= small_message ? measure::Repetition{.repeat = 10, .warmup = 10, .batches = 10}
                                : measure::Repetition{.repeat = 2, .warmup = 2, .batches = 10};
}

inline constexpr measure::Metric bandwidth_GBps{"bandwidth_GBps", measure::unit::GBps, measure::Better::higher,
                                                "bytes of all messages over the time"};

}  // namespace commlens
