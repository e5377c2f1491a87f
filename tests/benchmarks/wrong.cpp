// Transports that go wrong on purpose: a benchmark's validation must find each of them. And one that is only slow.
#include <chrono>
#include <thread>

#include "transport/communicator.hpp"
#include "transport/kinds.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::transport {
namespace {

/// Sums as MPI does, and then spoils the sum in its own way.
class WrongTransport : public Transport {
 public:
  explicit WrongTransport(const Communicator& parent) : communicator_(parent.handle()) {}

  void send(const void*, std::size_t, int, device::Stream&) override { throw Error("wrong: it only sums"); }
  void receive(void*, std::size_t, int, device::Stream&) override { throw Error("wrong: it only sums"); }
  std::unique_ptr<Exchange> exchange(std::vector<Message>, std::vector<Message>) override {
    throw Error("wrong: it only sums");
  }
  void alltoallv(const void*, std::span<const Piece>, void*, std::span<const Piece>, device::Stream&) override {
    throw Error("wrong: it only sums");
  }
  void broadcast(void*, std::size_t, int, device::Stream&) override { throw Error("wrong: it only sums"); }
  void barrier(device::Stream& stream) override {
    stream.wait();
    mpi_calls::barrier(communicator_);
  }

 protected:
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }

 private:
  Communicator communicator_;
};

/// One unit too many in the last element of every sum, on the last rank.
class OffByOne final : public WrongTransport {
 public:
  using WrongTransport::WrongTransport;
  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream) override {
    stream.wait();
    mpi_calls::allreduce(communicator(), input, output, count, type);
    if (communicator().rank() == communicator().size() - 1 && type == DataType::f64) {
      static_cast<double*>(output)[count - 1] += 1;
    }
  }
};

/// The last rank's own contribution alone.
class Forgetful final : public WrongTransport {
 public:
  using WrongTransport::WrongTransport;
  void allreduce(const void* /*input*/, void* /*output*/, std::size_t /*count*/, DataType /*type*/,
                 device::Stream& stream) override {
    stream.wait();
  }
};

/// A sum of what was there before the product was done: the stream is not waited for.
class Hasty final : public WrongTransport {
 public:
  using WrongTransport::WrongTransport;
  void allreduce(const void* input, void* output, std::size_t count, DataType type,
                 device::Stream& /*stream*/) override {
    mpi_calls::allreduce(communicator(), input, output, count, type);
  }
};

/// A right sum that takes its time, and no core while it does.
class Sleepy final : public WrongTransport {
 public:
  using WrongTransport::WrongTransport;
  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream) override {
    stream.wait();
    mpi_calls::allreduce(communicator(), input, output, count, type);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
};

template <class Wrong>
Kind kind(const std::string& name, const std::string& description) {
  return {.name = name,
          .description = description,
          .unfit = [](const Surroundings&) { return std::string(); },
          .make = [](const Surroundings& surroundings) -> std::unique_ptr<Transport> {
            return std::make_unique<Wrong>(surroundings.communicator);
          }};
}

const Registration off_by_one(20, kind<OffByOne>("off-by-one", "an element is off by one"));
const Registration forgetful(21, kind<Forgetful>("forgetful", "nothing is summed"));
const Registration sleepy(23, kind<Sleepy>("sleepy", "every sum takes a tenth of a second"));
const Registration hasty(22, kind<Hasty>("hasty", "no wait for the stream"));

}  // namespace
}  // namespace commlens::transport
