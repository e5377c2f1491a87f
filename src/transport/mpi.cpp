// The transport `mpi`: the buffer's own address is handed to MPI.
//
// MPI knows nothing of streams. So every operation first waits for the stream, and has finished when it returns; what
// is added to the stream afterwards sees the result without further ado.
#include "transport/activity.hpp"
#include "transport/communicator.hpp"
#include "transport/gpu_aware.hpp"
#include "transport/kinds.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::transport {

namespace {

/// The one place where this transport keeps the promise of stream order.
void wait_for_earlier_work(device::Stream& stream) {
  const InCall call(Call::stream_wait);
  stream.wait();
}

/// Of messages as mpi_calls has them: each by itself, or all in one call.
template <class Messages>
class MpiExchange final : public Exchange {
 public:
  MpiExchange(const Communicator& communicator, const std::vector<Message>& sends, const std::vector<Message>& receives)
      : messages_(communicator, sends, receives) {}

  void start(device::Stream& stream) override {
    wait_for_earlier_work(stream);
    messages_.start();
  }

  void finish(device::Stream& /*stream*/) override { messages_.finish(); }

 private:
  Messages messages_;
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(Communicator communicator) : communicator_(std::move(communicator)) {}

  void send(const void* data, std::size_t bytes, int to, device::Stream& stream) override {
    wait_for_earlier_work(stream);
    mpi_calls::send(communicator_, data, bytes, to);
  }

  void receive(void* data, std::size_t bytes, int from, device::Stream& stream) override {
    wait_for_earlier_work(stream);
    mpi_calls::receive(communicator_, data, bytes, from);
  }

  std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<MpiExchange<mpi_calls::Messages>>(communicator_, sends, receives);
  }

  std::unique_ptr<Exchange> neighbor_exchange(const std::vector<Message>& sends,
                                              const std::vector<Message>& receives) override {
    return std::make_unique<MpiExchange<mpi_calls::NeighborMessages>>(communicator_, sends, receives);
  }
  [[nodiscard]] bool knows_neighbors() const override { return true; }

  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    wait_for_earlier_work(stream);
    mpi_calls::allreduce(communicator_, input, output, count, type, reduction);
  }

  void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                 device::Stream& stream) override {
    wait_for_earlier_work(stream);
    mpi_calls::alltoallv(communicator_, input, sends, output, receives);
  }

  void broadcast(void* data, std::size_t bytes, int root, device::Stream& stream) override {
    wait_for_earlier_work(stream);
    mpi_calls::broadcast(communicator_, data, bytes, root);
  }

  void barrier(device::Stream& stream) override {
    wait_for_earlier_work(stream);
    mpi_calls::barrier(communicator_);
  }

  [[nodiscard]] bool divides() const override { return true; }
  std::unique_ptr<Transport> among(Communicator ranks) override {
    return std::make_unique<MpiTransport>(std::move(ranks));
  }

 private:
  Communicator communicator_;
};

std::string unfit(const Surroundings& surroundings) {
  if (!device::on_gpu(surroundings.memory)) return {};
  if (!surroundings.gpu_aware_mpi_off.empty()) return surroundings.gpu_aware_mpi_off;
  const GpuAwareness awareness = mpi_gpu_awareness(std::string(device::backend()));
  if (awareness.says == false) {
    return mpi_library() + " does not take " + std::string(name(surroundings.memory)) + " memory (" + awareness.how +
           " says no); use the transport staged, or an MPI built for this GPU";
  }
  return {};
}

const Registration registration(1, {.name = "mpi",
                                    .description = "the buffer's own address is handed to MPI",
                                    .unfit = unfit,
                                    .make = [](const Surroundings& surroundings) -> std::unique_ptr<Transport> {
                                      return std::make_unique<MpiTransport>(
                                          Communicator(surroundings.communicator.handle()));
                                    }});

}  // namespace

}  // namespace commlens::transport
