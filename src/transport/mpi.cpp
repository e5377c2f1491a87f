// The transport `mpi`: the address of the buffer is passed to MPI, also in GPU memory (GPU-aware MPI).
//
// MPI does not know streams. So every operation first waits for the stream, and has finished when it returns: work that
// is added to the stream afterwards sees the result.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/by_messages.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/mpi_collectives.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_window.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

namespace {

/// `Calls` are messages of mpi_calls, one call for each or one for all, or a collective.
template <class Calls>
class MpiExchange final : public Exchange {
 public:
  template <class... Arguments>
  explicit MpiExchange(const Communicator& communicator, const Arguments&... arguments)
      : calls_(communicator, arguments...) {}

  void start(device::Stream& stream) override {
    wait_for_stream(stream);
    calls_.start();
  }
  void finish(device::Stream& /*stream*/) override { calls_.finish(); }
  /// As Exchange::run(), without virtual calls.
  void run(device::Stream& stream) override {
    start(stream);
    finish(stream);
  }

 private:
  Calls calls_;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(Communicator communicator, device::Memory memory)
      : communicator_(std::move(communicator)), memory_(memory) {}

  void send(const void* data, std::size_t bytes, int to, device::Stream& stream) override {
    wait_for_stream(stream);
    mpi_calls::send(communicator_, data, bytes, to);
  }

  void receive(void* data, std::size_t bytes, int from, device::Stream& stream) override {
    wait_for_stream(stream);
    mpi_calls::receive(communicator_, data, bytes, from);
  }

  std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<MpiExchange<mpi_calls::Messages>>(communicator_, sends, receives);
  }

  [[nodiscard]] std::string form_unsupported(const MessageForm& form) const override {
    return mpi_calls::form_unsupported(form);
  }
  std::unique_ptr<Exchange> exchange_in_form(const std::vector<Message>& sends, const std::vector<Message>& receives,
                                             const MessageForm& form) override {
    return std::make_unique<MpiExchange<mpi_calls::Messages>>(communicator_, sends, receives, form);
  }

  std::unique_ptr<Exchange> neighbor_exchange(const std::vector<Message>& sends,
                                              const std::vector<Message>& receives) override {
    return std::make_unique<MpiExchange<mpi_calls::NeighborMessages>>(communicator_, sends, receives);
  }
  [[nodiscard]] bool has_neighbor_exchange() const override { return mpi_calls::has_neighbor_messages(); }

  [[nodiscard]] bool sums(DataType type) const override { return mpi_reduces(type); }
  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    wait_for_stream(stream);
    mpi_calls::allreduce(communicator_, input, output, count, type, reduction);
  }

  void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                 device::Stream& stream) override {
    wait_for_stream(stream);
    mpi_calls::alltoallv(communicator_, input, sends, output, receives);
  }

  [[nodiscard]] std::string unsupported(const Collective& collective, CallMode mode) const override {
    return mpi_unsupported(collective, mode, memory_);
  }
  [[nodiscard]] bool reduces_by_function(const Collective& collective) const override {
    return MpiReduction::is_ours(collective.reduction, collective.type);
  }
  std::unique_ptr<Exchange> collective(const Collective& collective, CallMode mode) override {
    if (is_by_messages(collective.operation)) return by_messages(*this, collective);
    return std::make_unique<MpiExchange<MpiCollective>>(communicator_, collective, mode);
  }

  void barrier(device::Stream& stream) override {
    wait_for_stream(stream);
    mpi_calls::barrier(communicator_);
  }

  /// MPI_Win_allocate makes host memory.
  [[nodiscard]] std::vector<WindowCreation> windows(device::Memory memory) const override {
    if (memory == device::Memory::host) {
      return {WindowCreation::allocate, WindowCreation::create, WindowCreation::dynamic};
    }
    return {WindowCreation::create, WindowCreation::dynamic};
  }
  std::unique_ptr<Window> window(WindowCreation creation, void* data, std::size_t bytes) override {
    return make_mpi_window(communicator_, creation, data, bytes);
  }

  [[nodiscard]] bool can_split() const override { return true; }
  std::unique_ptr<Transport> split(Communicator ranks) override {
    return std::make_unique<MpiTransport>(std::move(ranks), memory_);
  }

 private:
  Communicator communicator_;
  device::Memory memory_;
};

std::string unsupported(const Setup& setup) {
  if (!device::on_gpu(setup.memory)) return {};
  if (!setup.gpu_aware_mpi_off.empty()) return setup.gpu_aware_mpi_off;
  const GpuAwareness awareness = mpi_gpu_awareness(std::string(device::backend()));
  if (awareness.says == false) {
    return mpi_library() + " does not take " + std::string(name(setup.memory)) + " memory (" + awareness.how +
           " says no); use the transport staged, or an MPI built for this GPU";
  }
  return {};
}

const Registration mpi_registration(1, {.name = "mpi",
                                        .description = "the buffer's address is passed to MPI",
                                        .passes_gpu_memory_to_mpi = true,
                                        .unsupported = unsupported,
                                        .make = [](const Setup& setup) -> std::unique_ptr<Transport> {
                                          return std::make_unique<MpiTransport>(
                                              Communicator(setup.communicator.handle()), setup.memory);
                                        }});

}  // namespace

}  // namespace commlens::transport
