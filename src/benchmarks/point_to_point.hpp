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
#include "benchmarks/message_layout.hpp"
#include "benchmarks/pairing.hpp"
#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"

namespace commlens {

using transport::CallMode;

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
  std::optional<CallMode> call;
  std::size_t partitions = 0;  ///< of each message, of benchmarks with --partitions; 0: it is not partitioned
  LayoutOptions layout;        ///< of benchmarks with --layout; contiguous in others

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

  /// For the benchmarks that send and receive messages. `usual`: the default.
  void describe_call(OptionSet& options, CallMode usual) {
    usual_call = usual;
    options
        .add("call", call,
             "MPI_Send and MPI_Recv; MPI_Isend and MPI_Irecv; or MPI_Send_init, MPI_Recv_init and MPI_Startall")
        .shown_as([this] { return std::string(name(call.value_or(usual_call))); });
  }

  /// `hosts` are by rank; empty: not known yet.
  void resolve(int ranks, const std::vector<std::string>& hosts) {
    const auto count = static_cast<int>(pairs);
    layout.resolve(bytes);
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

  /// Nothing: the usual one, which every transport has. A message of fewer bytes than partitions has one partition.
  [[nodiscard]] std::optional<transport::MessageForm> form() const {
    transport::MessageForm form{.call = call.value_or(usual_call), .blocks = layout.blocks(bytes)};
    if (partitions > 0) {
      form.call = CallMode::persistent;
      form.partitions = bytes < partitions ? 1 : static_cast<int>(partitions);
    }
    if (form.call == usual_call && form.blocks.bytes == 0) return std::nullopt;
    return form;
  }

  /// With `messages` that are under way at the same time.
  [[nodiscard]] MemoryEstimate estimate(std::size_t messages) const {
    const auto data = static_cast<double>(bytes.largest());
    const double packed = layout.packs() ? data * static_cast<double>(messages) : 0;
    return {.buffers = 2 * (static_cast<double>(layout.extent(bytes.largest())) + packed), .operation = 2 * data};
  }

  CallMode usual_call = CallMode::blocking;

  // By resolve():
  std::vector<RankPair> chosen;
  std::vector<std::string> host_of;  ///< by rank; empty: not known yet

  static constexpr std::size_t acknowledgement = 4;  ///< bytes of the message that answers a window
};

/// Each message or operation of a window is a request of the MPI library. Throws UsageError.
inline void check_window(std::size_t window) {
  constexpr std::size_t most = 1'000'000;
  if (window > most) throw UsageError("window", std::to_string(window), "write at most " + std::to_string(most));
}

/// For the benchmarks that send windows of messages.
struct WindowOptions : PairOptions {
  std::size_t window = 64;

  void describe(OptionSet& options) {
    PairOptions::describe(options);
    options.add("window", window, "messages under way at the same time");
    describe_call(options, CallMode::nonblocking);
  }

  void resolve(int ranks, const std::vector<std::string>& hosts) {
    check_window(window);
    PairOptions::resolve(ranks, hosts);
  }

  [[nodiscard]] std::string operation() const { return "window of " + std::to_string(window) + " messages"; }
};

/// This rank's half of a pair. A rank that is in none has nothing to do.
class Pair {
 public:
  /// At most `messages` are under way at the same time. Throws Unsupported where the transport has none of their form.
  Pair(Run& run, const PairOptions& options, std::size_t messages = 1)
      : run_(run),
        bytes_(options.bytes),
        form_(options.form()),
        partner_(options.partner_of(run.rank())),
        outgoing_(run.buffer(options.layout.extent(bytes_))),
        incoming_(run.buffer(options.layout.extent(bytes_))) {
    if (options.layout.has_gaps()) places_ = options.layout.places(bytes_);
    if (options.layout.packs()) {
      packed_out_ = run.buffer(messages * bytes_);
      packed_in_ = run.buffer(messages * bytes_);
    }
    const std::string reason = form_ ? run.transport().form_unsupported(*form_) : "";
    if (!reason.empty()) throw Unsupported(reason);
  }

  void meet(const Partner& partner) { partner_ = partner; }

  [[nodiscard]] bool waits() const { return partner_.rank < 0; }
  [[nodiscard]] bool first() const { return partner_.first; }
  [[nodiscard]] bool second() const { return !waits() && !first(); }
  [[nodiscard]] int peer() const { return partner_.rank; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool has_form() const { return form_.has_value(); }

  void send() {
    pack(run_.stream(), 1);
    run_.transport().send(out(0), bytes_, peer(), run_.stream());
  }
  void receive() {
    run_.transport().receive(in(0), bytes_, peer(), run_.stream());
    unpack(run_.stream(), 1);
  }

  /// So many messages to the other rank, and from it. Must not outlive the pair.
  [[nodiscard]] std::unique_ptr<transport::Exchange> exchange(std::size_t sends, std::size_t receives) {
    std::vector<transport::Message> outgoing;
    std::vector<transport::Message> incoming;
    for (std::size_t i = 0; i < sends; ++i) outgoing.push_back({peer(), out(i), bytes_});
    for (std::size_t i = 0; i < receives; ++i) incoming.push_back({peer(), in(i), bytes_});
    auto exchange = form_ ? run_.transport().exchange_in_form(outgoing, incoming, *form_)
                          : run_.transport().exchange(outgoing, incoming);
    if (!packs()) return exchange;
    return packed(
        std::move(exchange), [this, sends](device::Stream& stream) { pack(stream, sends); },
        [this, receives](device::Stream& stream) { unpack(stream, receives); });
  }

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
    if (waits()) return {};
    if (places_) return expect_blocks(run_.stream(), *places_, incoming_, message(round, peer()));
    return pattern::expect_bytes(run_.stream(), incoming_, message(round, peer()));
  }

 private:
  [[nodiscard]] bool packs() const { return packed_out_.data() != nullptr; }
  /// Where a message is sent from, and received.
  [[nodiscard]] std::byte* out(std::size_t message) const {
    return packs() ? packed_out_.as<std::byte>() + message * bytes_ : outgoing_.as<std::byte>();
  }
  [[nodiscard]] std::byte* in(std::size_t message) const {
    return packs() ? packed_in_.as<std::byte>() + message * bytes_ : incoming_.as<std::byte>();
  }

  void pack(device::Stream& stream, std::size_t messages) {
    if (!places_ || !packs()) return;
    for (std::size_t i = 0; i < messages; ++i) {
      copy_blocks(stream, *places_, outgoing_.data(), out(i), bytes_, BlockCopy::pack);
    }
  }
  void unpack(device::Stream& stream, std::size_t messages) {
    if (!places_ || !packs()) return;
    for (std::size_t i = 0; i < messages; ++i) {
      copy_blocks(stream, *places_, incoming_.data(), in(i), bytes_, BlockCopy::unpack);
    }
  }

  [[nodiscard]] std::uint64_t message(std::size_t round, int sender) const {
    return pattern::seed(bytes_, round, static_cast<std::uint64_t>(sender));
  }

  Run& run_;
  std::size_t bytes_;
  std::optional<transport::MessageForm> form_;
  std::optional<BlockPlaces> places_;  ///< of messages with gaps
  Partner partner_;
  device::Buffer outgoing_;
  device::Buffer incoming_;
  device::Buffer packed_out_;  ///< where the application packs
  device::Buffer packed_in_;
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
    exchange_ = pair_.exchange(pair_.first() ? messages_ : 0, pair_.second() ? messages_ : 0);
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
