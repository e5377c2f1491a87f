// A transport: MPI's synchronous sends, which return only when the receiver has begun to receive. Beside `mpi` it shows
// what a library gains by sending short messages eagerly.
#include <climits>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/activity.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {
namespace {

/// What the watchdog prints of a rank that stays in it, and what records count.
const Call synchronous_send{"MPI_Ssend"};

class SynchronousTransport final : public Transport {
 public:
  explicit SynchronousTransport(const Communicator& parent) : communicator_(parent.handle()) {}

  void send(const void* data, std::size_t bytes, int to, device::Stream& stream) override {
    if (bytes > INT_MAX) throw Error("synchronous: a message is longer than MPI_Ssend takes");
    stream.wait();  // MPI knows nothing of streams
    const InCall call(synchronous_send);
    CALL_MPI(MPI_Ssend, data, static_cast<int>(bytes), MPI_BYTE, to, 0, communicator_.handle());
  }
  void receive(void* data, std::size_t bytes, int from, device::Stream& stream) override {
    stream.wait();
    mpi_calls::receive(communicator_, data, bytes, from);
  }
  std::unique_ptr<Exchange> exchange(std::vector<Message> /*sends*/, std::vector<Message> /*receives*/) override {
    throw Error("synchronous: exchanges would wait for each other for ever");
  }
  /// Real numbers are enough for an example; who asks for others is told.
  [[nodiscard]] bool sums(DataType type) const override { return components(type) == 1; }
  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    stream.wait();
    mpi_calls::allreduce(communicator_, input, output, count, type, reduction);
  }
  void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                 device::Stream& stream) override {
    stream.wait();
    mpi_calls::alltoallv(communicator_, input, sends, output, receives);
  }
  void barrier(device::Stream& stream) override {
    stream.wait();
    mpi_calls::barrier(communicator_);
  }

 private:
  Communicator communicator_;
};

const Registration registration(10, {.name = "synchronous",
                                     .description = "MPI's synchronous sends",
                                     .unsupported = [](const Setup& setup) -> std::string {
                                       return on_gpu(setup.memory) ? "only host memory" : "";
                                     },
                                     .make = [](const Setup& setup) -> std::unique_ptr<Transport> {
                                       return std::make_unique<SynchronousTransport>(setup.communicator);
                                     }});

}  // namespace
}  // namespace commlens::transport
