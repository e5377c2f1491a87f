// What the four point-to-point benchmarks share: pairs of ranks, their options, and messages that can be told apart.
//
// Rank i < pairs sends to, or starts with, rank i + pairs, as in the OSU micro-benchmarks, unless pairs within nodes or
// across nodes are asked for. A rank has one buffer for what it sends and one for what it receives, and all messages of
// a window use the same two, as there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/pairing.hpp"
#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"

namespace commlens {

inline constexpr std::size_t small_message = 8192;  ///< bytes; OSU repeats messages up to this size more often

/// This rank in a pair.
struct Partner {
  int rank = -1;  ///< -1: it is in none, and waits
  bool first = false;
};

struct PairOptions {
  Sizes bytes{1, 4_MiB};
  std::optional<device::Memory> from;
  std::optional<device::Memory> to;
  std::size_t pairs = 1;
  std::optional<PairsAcross> across;
  bool matrix = false;

  void describe(OptionSet& options) {
    options.add("bytes", bytes, "size or sizes of a message: 4096, 8:1G (times 2), 8:1G:x8");
    describe_pairs(options);
  }

  void describe_pairs(OptionSet& options) {
    // The record's memory says the same.
    options.add("from", from, "memory kind of the first rank of each pair").role(measure::Role::derived);
    options.add("to", to, "memory kind of the second one").role(measure::Role::derived);
    options.add("pairs", pairs, "pairs of ranks at the same time: rank i with rank i + pairs");
    options.add("pairs-across", across,
                "which ranks make a pair: two of a node, or rank i of a node with rank i of the next one; others wait");
  }

  /// `hosts` are by rank; empty: not known yet.
  void resolve(int ranks, const std::vector<std::string>& hosts) {
    const auto count = static_cast<int>(pairs);
    host_of = hosts;
    if (matrix) {
      require_matrix(ranks);
    } else if (across) {
      choose_pairs(*across);
    } else if (ranks == 2 * count) {
      for (int rank = 0; rank < count; ++rank) chosen.push_back({rank, rank + count});
    } else {
      throw UsageError(pairs == 1 ? "ranks" : "pairs", std::to_string(pairs == 1 ? ranks : pairs),
                       std::to_string(pairs) + (pairs == 1 ? " pair needs " : " pairs need ") +
                           std::to_string(2 * pairs) + " ranks, not " + std::to_string(ranks) +
                           "; start with --ranks " + std::to_string(2 * pairs) +
                           (ranks > 1 && ranks % 2 == 0 ? " or with --pairs " + std::to_string(ranks / 2) : ""));
    }
  }

  [[nodiscard]] device::Memory memory(int rank, int /*ranks*/, device::Memory kind) const {
    return partner_of(rank).first ? from.value_or(kind) : to.value_or(kind);
  }

  [[nodiscard]] Partner partner_of(int rank) const {
    for (const RankPair& pair : chosen) {
      if (pair.first == rank) return {.rank = pair.second, .first = true};
      if (pair.second == rank) return {.rank = pair.first, .first = false};
    }
    return {};
  }

  /// Of the pairs that are possible the first `pairs`; all with `pairs` 0.
  void choose_pairs(PairsAcross kind) {
    if (host_of.empty()) return;
    chosen = pairs_across(host_of, kind);
    const std::string word(name(kind));
    if (chosen.empty()) {
      throw UsageError("pairs-across", word,
                       kind == PairsAcross::nodes ? "all ranks are on one node; start ranks on two"
                                                  : "no node has two ranks; start two ranks on a node");
    }
    if (pairs > chosen.size()) {
      throw UsageError("pairs", std::to_string(pairs),
                       "--pairs-across " + word + " finds " + std::to_string(chosen.size()) + " here");
    }
    if (pairs == 0) pairs = chosen.size();
    chosen.resize(pairs);
  }

  void require_matrix(int ranks) const {
    const std::string fix = "--matrix measures each pair of ranks by itself, in one kind of memory; leave it out";
    if (ranks < 2) throw UsageError("ranks", std::to_string(ranks), "--matrix needs 2 ranks or more");
    if (pairs != 1) throw UsageError("pairs", std::to_string(pairs), fix);
    if (across) throw UsageError("pairs-across", std::string(name(*across)), fix);
    if (from) throw UsageError("from", std::string(name(*from)), fix);
    if (to) throw UsageError("to", std::string(name(*to)), fix);
  }

  // By resolve():
  std::vector<RankPair> chosen;
  std::vector<std::string> host_of;  ///< by rank; empty: not known yet

  static constexpr std::size_t acknowledgement = 4;  ///< bytes of the message that answers a window
};

/// For the benchmarks that send windows of messages.
struct WindowOptions : PairOptions {
  std::size_t window = 64;

  void describe(OptionSet& options) {
    PairOptions::describe(options);
    options.add("window", window, "messages under way at the same time");
  }

  void resolve(int ranks, const std::vector<std::string>& hosts) {
    constexpr std::size_t most = 1'000'000;  // each message is a request of the MPI library
    if (window > most) throw UsageError("window", std::to_string(window), "write at most " + std::to_string(most));
    PairOptions::resolve(ranks, hosts);
  }

  [[nodiscard]] std::string operation() const { return "window of " + std::to_string(window) + " messages"; }
};

/// This rank's half of a pair. A rank that is in none has nothing to do.
class Pair {
 public:
  Pair(Run& run, const PairOptions& options)
      : run_(run),
        bytes_(options.bytes),
        partner_(options.partner_of(run.rank())),
        outgoing_(run.buffer(options.bytes)),
        incoming_(run.buffer(options.bytes)) {}

  void meet(const Partner& partner) { partner_ = partner; }

  [[nodiscard]] bool waits() const { return partner_.rank < 0; }
  [[nodiscard]] bool first() const { return partner_.first; }
  [[nodiscard]] bool second() const { return !waits() && !first(); }
  [[nodiscard]] int peer() const { return partner_.rank; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const device::Buffer& outgoing() const { return outgoing_; }
  [[nodiscard]] const device::Buffer& incoming() const { return incoming_; }

  void send() { run_.transport().send(outgoing_.data(), bytes_, peer(), run_.stream()); }
  void receive() { run_.transport().receive(incoming_.data(), bytes_, peer(), run_.stream()); }

  /// The least that the hardware needs for so many messages from the first rank to the second; both ways if so.
  [[nodiscard]] CopyCeiling ceiling(double messages, bool both_ways = false) const {
    return {.bytes = bytes_,
            .copies = messages,
            .peer = waits() ? run_.rank() : peer(),
            .takes_part = first() || (both_ways && second())};
  }

  /// A message that depends on its size, the round and the sender; where one will come, every byte is wrong beforehand.
  void reset(std::size_t round) {
    if (waits()) return;
    pattern::write_bytes(run_.stream(), outgoing_, message(round, run_.rank()));
    pattern::poison_bytes(run_.stream(), incoming_, message(round, peer()));
  }

  [[nodiscard]] Verdict verify(std::size_t round) {
    return waits() ? Verdict{} : pattern::expect_bytes(run_.stream(), incoming_, message(round, peer()));
  }

 private:
  [[nodiscard]] std::uint64_t message(std::size_t round, int sender) const {
    return pattern::seed(bytes_, round, static_cast<std::uint64_t>(sender));
  }

  Run& run_;
  std::size_t bytes_;
  Partner partner_;
  device::Buffer outgoing_;
  device::Buffer incoming_;
};

/// A window of messages one way, answered by a short one: what bandwidth and message-rate repeat.
class Window {
 public:
  Window(Run& run, Pair& pair, std::size_t messages)
      : run_(run), pair_(pair), messages_(messages), answer_(run.buffer(PairOptions::acknowledgement)) {
    prepare();
  }

  /// Again where the rank has met another one.
  void prepare() {
    exchange_.reset();
    if (pair_.waits()) return;
    exchange_ = run_.transport().exchange(messages_if(pair_.first(), pair_.outgoing()),
                                          messages_if(pair_.second(), pair_.incoming()));
  }

  void operate() {
    if (pair_.waits()) return;
    auto& stream = run_.stream();
    exchange_->run(stream);
    if (pair_.first()) {
      run_.transport().receive(answer_.data(), answer_.bytes(), pair_.peer(), stream);
    } else {
      run_.transport().send(answer_.data(), answer_.bytes(), pair_.peer(), stream);
    }
  }

  /// Only the second rank of a pair receives something to compare.
  [[nodiscard]] Verdict verify(std::size_t round) { return pair_.second() ? pair_.verify(round) : Verdict{}; }

 private:
  [[nodiscard]] std::vector<transport::Message> messages_if(bool wanted, const device::Buffer& buffer) const {
    if (!wanted) return {};
    return std::vector<transport::Message>(messages_, {pair_.peer(), buffer.data(), pair_.bytes()});
  }

  Run& run_;
  Pair& pair_;
  std::size_t messages_;
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

/// The layout of an OSU benchmark for pairs of ranks.
inline measure::ClassicLayout osu_pairs(std::string_view title, std::vector<measure::ClassicLayout::Column> columns,
                                        bool pairs = false) {
  return {.format = "osu", .title = title, .columns = std::move(columns), .point_to_point = true, .pairs = pairs};
}

/// The layout of an OSU benchmark of one-sided operations.
inline measure::ClassicLayout osu_one_sided(std::string_view call, std::string_view title,
                                            std::vector<measure::ClassicLayout::Column> columns) {
  auto layout = osu_pairs(title, std::move(columns));
  layout.call = call;
  layout.one_sided = true;
  return layout;
}

inline constexpr Metric bandwidth_GBps{"bandwidth_GBps", unit::GBps, Better::higher,
                                       "bytes of all messages over the time"};

}  // namespace commlens
