// A copy of the transport mpi whose sums take longer by a share that is asked for: `commlens compare` must find it.
//
//   COMMLENS_SLOWDOWN=10 commlens-bench-slowed allreduce --transport slowed      # 10% longer; without the variable, 0
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/mpi_calls.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {
namespace {

double percent_from_environment() {
  const char* text = std::getenv("COMMLENS_SLOWDOWN");
  return text == nullptr ? 0 : std::strtod(text, nullptr);
}

/// Each sum is followed by a busy wait that takes a share of its time, on all ranks alike.
class SlowedTransport final : public Transport {
 public:
  explicit SlowedTransport(const Setup& setup) : communicator_(setup.communicator.handle()) {}

  void send(const void*, std::size_t, int, device::Stream&) override { throw Error("slowed: it only sums"); }
  void receive(void*, std::size_t, int, device::Stream&) override { throw Error("slowed: it only sums"); }
  std::unique_ptr<Exchange> exchange(std::vector<Message> /*sends*/, std::vector<Message> /*receives*/) override {
    throw Error("slowed: it only sums");
  }
  void alltoallv(const void*, std::span<const Piece>, void*, std::span<const Piece>, device::Stream&) override {
    throw Error("slowed: it only sums");
  }
  void barrier(device::Stream& stream) override {
    stream.wait();
    mpi_calls::barrier(communicator_);
  }
  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    using Clock = std::chrono::steady_clock;
    stream.wait();
    const auto begin = Clock::now();
    mpi_calls::allreduce(communicator_, input, output, count, type, reduction);
    const auto end = Clock::now();
    const auto until = end + std::chrono::duration_cast<Clock::duration>((end - begin) * share_);
    while (Clock::now() < until) {
    }
  }

 private:
  Communicator communicator_;
  double share_ = percent_from_environment() / 100;
};

const Registration slowed(30, {.name = "slowed",
                               .description = "mpi, whose sums take longer by COMMLENS_SLOWDOWN percent",
                               .unsupported = [](const Setup& setup) -> std::string {
                                 return setup.memory == device::Memory::host ? "" : "only host memory";
                               },
                               .make = [](const Setup& setup) -> std::unique_ptr<Transport> {
                                 return std::make_unique<SlowedTransport>(setup);
                               }});

}  // namespace
}  // namespace commlens::transport
