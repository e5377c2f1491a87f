// Transports that go wrong on purpose: a benchmark's validation must find each of them. And one that is only slow.
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transport/communicator.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {
namespace {

/// Messages that travel as they should, but for what a wrong transport does before them and behind.
template <class Wrong>
class WrongExchange final : public Exchange {
 public:
  WrongExchange(Wrong& transport, const std::vector<Message>& sends, std::vector<Message> receives)
      : transport_(transport), messages_(transport.communicator(), sends, receives), receives_(std::move(receives)) {}

  void start(device::Stream& stream) override {
    if (!Wrong::hasty) stream.wait();
    if (Wrong::delivers) messages_.start();
  }
  void finish(device::Stream& /*stream*/) override {
    if (Wrong::delivers) messages_.finish();
    for (const Message& message : receives_) transport_.spoil(message.data, message.bytes);
  }

 private:
  Wrong& transport_;
  mpi_calls::Messages messages_;
  std::vector<Message> receives_;
};

/// Sums and exchanges, and does both wrong in its way.
template <class Wrong>
class WrongTransport : public Transport {
 public:
  explicit WrongTransport(Communicator communicator) : communicator_(std::move(communicator)) {}

  void send(const void*, std::size_t, int, device::Stream&) override { throw Error("wrong: it only sums"); }
  void receive(void*, std::size_t, int, device::Stream&) override { throw Error("wrong: it only sums"); }
  std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<WrongExchange<Wrong>>(static_cast<Wrong&>(*this), sends, std::move(receives));
  }
  void barrier(device::Stream& stream) override {
    stream.wait();
    mpi_calls::barrier(communicator_);
  }
  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    if (!Wrong::hasty) stream.wait();
    if (Wrong::delivers) mpi_calls::allreduce(communicator_, input, output, count, type, reduction);
    static_cast<Wrong&>(*this).spoil_sum(output, count, type);
  }
  void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                 device::Stream& stream) override {
    if (!Wrong::hasty) stream.wait();
    if (Wrong::delivers) mpi_calls::alltoallv(communicator_, input, sends, output, receives);
    for (const Piece& piece : receives) {
      static_cast<Wrong&>(*this).spoil(static_cast<std::byte*>(output) + piece.offset, piece.bytes);
    }
  }
  [[nodiscard]] bool can_split() const override { return true; }
  std::unique_ptr<Transport> split(Communicator ranks) override { return std::make_unique<Wrong>(std::move(ranks)); }

  [[nodiscard]] const Communicator& communicator() const { return communicator_; }

  // What is wrong.
  static constexpr bool hasty = false;
  static constexpr bool delivers = true;
  void spoil(void* /*received*/, std::size_t /*bytes*/) {}
  void spoil_sum(void* /*output*/, std::size_t /*count*/, DataType /*type*/) {}

 private:
  Communicator communicator_;
};

/// One unit too many in the last element of all that comes to the last rank.
class OffByOne final : public WrongTransport<OffByOne> {
 public:
  using WrongTransport::WrongTransport;
  void spoil(void* data, std::size_t bytes) {
    if (bytes == 0 || communicator().rank() != communicator().size() - 1) return;
    static_cast<double*>(data)[bytes / sizeof(double) - 1] += 1;
  }
  void spoil_sum(void* output, std::size_t count, DataType type) {
    if (type == DataType::f64) spoil(output, count * sizeof(double));
  }
};

/// One too many in every sum, on all ranks alike: they agree with each other.
class Biased final : public WrongTransport<Biased> {
 public:
  using WrongTransport::WrongTransport;
  void spoil_sum(void* output, std::size_t count, DataType type) {
    if (type != DataType::f64) return;
    for (std::size_t i = 0; i < count; ++i) static_cast<double*>(output)[i] += 1;
  }
};

/// Nothing comes from anybody.
class Forgetful final : public WrongTransport<Forgetful> {
 public:
  using WrongTransport::WrongTransport;
  static constexpr bool delivers = false;
};

/// What was there before earlier work was done: the stream is not waited for.
class Hasty final : public WrongTransport<Hasty> {
 public:
  using WrongTransport::WrongTransport;
  static constexpr bool hasty = true;
};

/// A right sum that takes its time, and no core while it does.
class Sleepy final : public WrongTransport<Sleepy> {
 public:
  using WrongTransport::WrongTransport;
  void spoil_sum(void* /*output*/, std::size_t /*count*/, DataType /*type*/) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
};

/// No rank waits for another one.
class Impatient final : public WrongTransport<Impatient> {
 public:
  using WrongTransport::WrongTransport;
  void barrier(device::Stream& stream) override { stream.wait(); }
};

template <class Wrong>
Description wrong(const std::string& name, const std::string& description) {
  return {.name = name,
          .description = description,
          .unsupported = [](const Setup&) { return std::string(); },
          .make = [](const Setup& setup) -> std::unique_ptr<Transport> {
            return std::make_unique<Wrong>(Communicator(setup.communicator.handle()));
          }};
}

const Registration off_by_one(20, wrong<OffByOne>("off-by-one", "an element is off by one"));
const Registration forgetful(21, wrong<Forgetful>("forgetful", "nothing comes from anybody"));
const Registration sleepy(23, wrong<Sleepy>("sleepy", "every sum takes a tenth of a second"));
const Registration impatient(25, wrong<Impatient>("impatient", "no rank waits for another one"));
const Registration biased(24, wrong<Biased>("biased", "one too many in every sum"));
const Registration hasty(22, wrong<Hasty>("hasty", "no wait for the stream"));

}  // namespace
}  // namespace commlens::transport
