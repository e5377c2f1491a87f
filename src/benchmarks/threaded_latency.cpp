// Ping-pongs of several threads of a rank at the same time: osu_latency_mt in the OSU micro-benchmarks 7.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/point_to_point.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_threads.hpp"

namespace commlens {
namespace {

constexpr Metric threaded_latency_us{"latency_us", unit::us, Better::lower,
                                     "half the round trip of each thread, while all threads have theirs"};

struct ThreadedOptions : PairOptions {
  std::size_t threads = 2;

  void describe(OptionSet& options) {
    PairOptions::describe(options);
    options.add("threads", threads, "threads of a rank at the same time, each with one of the other rank");
  }

  void resolve(int ranks, const std::vector<std::string>& hosts) {
    constexpr std::size_t most = 1024;
    if (threads > most) throw UsageError("threads", std::to_string(threads), "write at most " + std::to_string(most));
    PairOptions::resolve(ranks, hosts);
  }

  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const {
    const auto bytes_of_thread = static_cast<double>(bytes.largest() + Run::page);
    return {.buffers = 2 * static_cast<double>(threads) * bytes_of_thread, .operation = 0};
  }
};

/// The buffers of this rank's threads.
class Threads {
 public:
  Threads(Run& run, const ThreadedOptions& options)
      : run_(run), bytes_(options.bytes), partner_(options.partner_of(run.rank())) {
    if (waits()) return;
    for (std::size_t thread = 0; thread < options.threads; ++thread) {
      outgoing_.push_back(run.buffer(bytes_));
      incoming_.push_back(run.buffer(bytes_));
    }
  }

  [[nodiscard]] bool waits() const { return partner_.rank < 0; }
  [[nodiscard]] const Partner& partner() const { return partner_; }
  [[nodiscard]] std::vector<transport::ThreadBuffers> buffers() const {
    std::vector<transport::ThreadBuffers> buffers;
    for (std::size_t thread = 0; thread < outgoing_.size(); ++thread) {
      buffers.push_back({outgoing_[thread].data(), incoming_[thread].data(), bytes_});
    }
    return buffers;
  }

  void reset(std::size_t round) {
    for (std::size_t thread = 0; thread < outgoing_.size(); ++thread) {
      pattern::write_bytes(run_.stream(), outgoing_[thread], message(round, run_.rank(), thread));
      pattern::poison_bytes(run_.stream(), incoming_[thread], message(round, partner_.rank, thread));
    }
  }

  [[nodiscard]] Verdict verify(std::size_t round) {
    Verdict all;
    for (std::size_t thread = 0; thread < incoming_.size(); ++thread) {
      const Verdict one =
          pattern::expect_bytes(run_.stream(), incoming_[thread], message(round, partner_.rank, thread));
      all.elements += one.elements;
      if (all.error.empty() && !one.error.empty()) all.error = "thread " + std::to_string(thread) + ": " + one.error;
    }
    return all;
  }

 private:
  [[nodiscard]] std::uint64_t message(std::size_t round, int sender, std::size_t thread) const {
    return pattern::seed(bytes_, round, pattern::seed(static_cast<std::uint64_t>(sender), thread));
  }

  Run& run_;
  std::size_t bytes_;
  Partner partner_;
  std::vector<device::Buffer> outgoing_;
  std::vector<device::Buffer> incoming_;
};

void require_supported(Run& run) {
  if (run.transport_name() != "mpi") throw Unsupported("threads communicate by MPI's calls: use --transport mpi");
  if (device::on_gpu(run.memory())) throw Unsupported("threads communicate in host memory: use --memory host");
  const auto provided = transport::provided_thread_level();
  if (provided == transport::ThreadLevel::multiple) return;
  throw Unsupported(transport::mpi_library() + " provides the thread level " + std::string(name(provided)) +
                    ", not multiple, which threads need to communicate");
}

void threaded_latency(Run& run, const ThreadedOptions& options) {
  require_supported(run);
  Threads threads(run, options);
  const std::size_t bytes = options.bytes;
  const std::size_t round_trips = bytes <= small_message ? 100 : 10;  // to wake a thread takes as long as a few
  const transport::Communicator communicator(run.communicator().handle());
  transport::ThreadedPingPong ping_pong(communicator, threads.partner().rank, threads.partner().first,
                                        threads.buffers(), round_trips);
  auto repetition = ping_pong_repetition(bytes);
  repetition.repeat /= round_trips;
  repetition.warmup /= round_trips;
  run.measure({.operation = std::to_string(round_trips) + " round trips of each thread",
               .reset = [&](std::size_t round) { threads.reset(round); },
               .operate = [&] { ping_pong.operate(); },
               .verify = [&](std::size_t round) { return threads.verify(round); },
               .repetition = repetition,
               .metrics = {threaded_latency_us(0.5 / static_cast<double>(round_trips))},
               .ceilings = {CopyCeiling{.bytes = bytes,
                                        .copies = 2 * static_cast<double>(round_trips),
                                        .peer = threads.waits() ? run.rank() : threads.partner().rank,
                                        .takes_part = !threads.waits() && threads.partner().first}}});
}

BENCHMARK("threaded-latency", "half the round trip of ping-pongs of several threads at the same time (osu_latency_mt)",
          threaded_latency, ThreadedOptions, .metrics = {threaded_latency_us},
          .classic = {osu_pairs("Multi-threaded Latency Test", {{"Latency (us)", "latency_us"}})},
          .communicates_in_threads = true);

}  // namespace
}  // namespace commlens
