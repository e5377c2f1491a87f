// Windows of messages from many ranks to one, or from one to many: osu_bw_fan_in and osu_bw_fan_out in the OSU
// micro-benchmarks 7.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

enum class Fan { in, out };
ENUM_NAMES(Fan, {in, "in"}, {out, "out"});

/// Ranks 0 to `roots` - 1 are roots; each of the others communicates with one of them.
struct FanOptions {
  Sizes bytes{1, 4_MiB};
  std::size_t window = 64;
  Fan fan = Fan::in;
  std::size_t roots = 1;

  void describe(OptionSet& options) {
    options.add("bytes", bytes, "size or sizes of a message: 4096, 8:1G (times 2), 8:1G:x8");
    options.add("fan", fan, "from all other ranks to the root, or from it to them");
    options.add("roots", roots, "ranks that are a root; rank r communicates with root r modulo this");
    options.add("window", window, "messages under way at the same time, of each pair of ranks");
  }

  void resolve(int ranks) {
    if (static_cast<int>(roots) >= ranks) {
      throw UsageError("roots", std::to_string(roots),
                       "a root needs another rank; start with --ranks " + std::to_string(2 * roots) + " or more");
    }
    ranks_ = static_cast<std::size_t>(ranks);
  }

  /// The ranks that a rank communicates with.
  [[nodiscard]] std::vector<int> peers(int rank) const {
    const auto number = static_cast<std::size_t>(rank);
    if (number >= roots) return {static_cast<int>(number % roots)};
    std::vector<int> peers;
    for (std::size_t peer = number + roots; peer < ranks_; peer += roots) peers.push_back(static_cast<int>(peer));
    return peers;
  }

  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int /*ranks*/) const {
    const auto messages = static_cast<double>(peers(rank).size());
    const double acknowledgements = messages * static_cast<double>(PairOptions::acknowledgement);
    const double data = messages * static_cast<double>(bytes.largest());
    return {.buffers = data + acknowledgements, .operation = data + acknowledgements};
  }

 private:
  std::size_t ranks_ = 1;
};

/// This rank's messages. A root has a place for each of its peers.
class FanWindow {
 public:
  FanWindow(Run& run, const FanOptions& options)
      : run_(run),
        bytes_(options.bytes),
        peers_(options.peers(run.rank())),
        sends_((static_cast<std::size_t>(run.rank()) < options.roots) == (options.fan == Fan::out)),
        data_(run.buffer(peers_.size() * bytes_)),
        answers_(run.buffer(peers_.size() * PairOptions::acknowledgement)),
        window_(exchange(data_, options.window, sends_)),
        answer_(exchange(answers_, 1, !sends_)) {}

  [[nodiscard]] bool sends() const { return sends_; }

  void operate() {
    window_->run(run_.stream());
    answer_->run(run_.stream());
  }

  void reset(std::size_t round) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (sends_) {
        pattern::write_bytes(run_.stream(), at(i), bytes_, message(round, run_.rank(), peers_[i]));
      } else {
        pattern::poison_bytes(run_.stream(), at(i), bytes_, message(round, peers_[i], run_.rank()));
      }
    }
  }

  [[nodiscard]] Verdict verify(std::size_t round) {
    Verdict all;
    for (std::size_t i = 0; i < peers_.size() && !sends_; ++i) {
      const Verdict one = pattern::expect_bytes(run_.stream(), at(i), bytes_, message(round, peers_[i], run_.rank()));
      all.elements += one.elements;
      if (all.error.empty() && !one.error.empty()) {
        all.error = "from rank " + std::to_string(peers_[i]) + ": " + one.error;
      }
    }
    return all;
  }

 private:
  [[nodiscard]] std::byte* at(std::size_t peer) const { return data_.as<std::byte>() + peer * bytes_; }

  [[nodiscard]] std::uint64_t message(std::size_t round, int from, int to) const {
    return pattern::seed(bytes_, round,
                         pattern::seed(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)));
  }

  [[nodiscard]] std::unique_ptr<transport::Exchange> exchange(const device::Buffer& buffer, std::size_t times,
                                                              bool outgoing) {
    const std::size_t bytes = buffer.bytes() / peers_.size();
    std::vector<transport::Message> messages;
    for (std::size_t i = 0; i < times; ++i) {
      for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
        messages.push_back({peers_[peer], buffer.as<std::byte>() + peer * bytes, bytes});
      }
    }
    if (outgoing) return run_.transport().exchange(messages, {});
    return run_.transport().exchange({}, messages);
  }

  Run& run_;
  std::size_t bytes_;
  std::vector<int> peers_;
  bool sends_;
  device::Buffer data_;
  device::Buffer answers_;
  std::unique_ptr<transport::Exchange> window_;
  std::unique_ptr<transport::Exchange> answer_;
};

void fan_bandwidth(Run& run, const FanOptions& options) {
  FanWindow window(run, options);
  const std::size_t bytes = options.bytes;
  const auto messages = static_cast<double>(options.window);
  const double pairs = run.ranks() - static_cast<double>(options.roots);
  run.measure({.operation = "window of " + std::to_string(options.window) + " messages of each pair",
               .reset = [&](std::size_t round) { window.reset(round); },
               .operate = [&] { window.operate(); },
               .verify = [&](std::size_t round) { return window.verify(round); },
               .repetition = window_repetition(bytes),
               .metrics = {bandwidth_GBps(messages * pairs * static_cast<double>(bytes))},
               .ceilings = {CopyCeiling{.bytes = bytes,
                                        .copies = messages,
                                        .peer = options.peers(run.rank()).front(),
                                        .takes_part = static_cast<std::size_t>(run.rank()) >= options.roots}}});
}

BENCHMARK("fan-bandwidth", "windows of messages from many ranks to one, or from one to many (osu_bw_fan_in, _fan_out)",
          fan_bandwidth, FanOptions, .metrics = {bandwidth_GBps},
          .classic = {osu_pairs("Bandwidth Test", {{"Bandwidth (MB/s)", "bandwidth_GBps", 1e3}})});

}  // namespace
}  // namespace commlens
