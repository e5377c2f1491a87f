#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "device/device.hpp"
#include "harness/application.hpp"
#include "harness/monitor.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/mpi_library.hpp"
#include "transport/rank_device.hpp"

namespace commlens {

namespace {

using transport::Communicator;

/// One below and one above the size from which MPI libraries no longer send eagerly, and the smallest.
constexpr std::array<std::size_t, 3> message_sizes{1, 8192, std::size_t{1} << 20};
constexpr std::size_t sum_count = 1000;

/// In one write: lines of several ranks share a pipe.
void say(const Json& line) {
  const std::string text = line_of(line) + "\n";
  const auto written = write(STDOUT_FILENO, text.data(), text.size());
  (void)written;
}

class Probe {
 public:
  Probe(const Communicator& communicator, device::Device& device, device::Memory memory)
      : communicator_(communicator), device_(device), memory_(memory), stream_(device.stream(memory)) {}

  void say_library() const {
    const auto awareness = transport::mpi_gpu_awareness(std::string(device::backend()));
    const auto ucx = transport::ucx_version();
    say({{"probe", "library"},
         {"rank", communicator_.rank()},
         {"mpi", transport::mpi_library()},
         {"ucx", ucx ? Json(*ucx) : Json(nullptr)},
         {"says_gpu_aware", !awareness.says ? "unknown" : (*awareness.says ? "yes" : "no")},
         {"how", awareness.how}});
  }

  /// From rank 0 to rank 1, and back.
  void ping_pong(std::size_t bytes) {
    const int rank = communicator_.rank();
    if (communicator_.size() < 2 || rank > 1) return;
    if (rank == 0) send(bytes);
    receive(bytes);
    if (rank == 1) send(bytes);
  }

  /// Rank r contributes r + 1 everywhere.
  void allreduce() {
    const std::vector<double> mine(sum_count, communicator_.rank() + 1.0);
    const std::vector<double> expected(sum_count, communicator_.size() * (communicator_.size() + 1) / 2.0);
    const auto buffer = device_.allocate(memory_, sum_count * sizeof(double));
    stream_->copy(buffer.data(), mine.data(), buffer.bytes());
    stream_->wait();
    step("MPI_Allreduce", buffer.bytes(), [&] {
      transport::mpi_calls::allreduce(communicator_, buffer.data(), buffer.data(), sum_count, DataType::f64);
      std::vector<double> sums(sum_count);
      stream_->copy(sums.data(), buffer.data(), buffer.bytes());
      stream_->wait();
      return sums == expected;
    });
  }

  /// Whether all that this rank has received was right.
  [[nodiscard]] bool valid() const { return valid_; }

 private:
  template <class Function>
  void step(const char* call, std::size_t bytes, Function function) {
    Json line{{"probe", "begin"},
              {"rank", communicator_.rank()},
              {"call", call},
              {"bytes", bytes},
              {"memory", name(memory_)}};
    say(line);
    const bool valid = function();
    line["probe"] = "end";
    line["valid"] = valid;
    say(line);
    valid_ = valid_ && valid;
  }

  void send(std::size_t bytes) {
    const auto buffer = filled(bytes, 171);
    step("MPI_Send", bytes, [&] {
      transport::mpi_calls::send(communicator_, buffer.data(), bytes, 1 - communicator_.rank());
      return true;
    });
  }

  void receive(std::size_t bytes) {
    const auto buffer = filled(bytes, 17);
    step("MPI_Recv", bytes, [&] {
      transport::mpi_calls::receive(communicator_, buffer.data(), bytes, 1 - communicator_.rank());
      return holds(buffer, 171);
    });
  }

  [[nodiscard]] device::Buffer filled(std::size_t bytes, unsigned char value) {
    auto buffer = device_.allocate(memory_, bytes);
    stream_->fill(buffer.data(), value, bytes);
    stream_->wait();
    return buffer;
  }

  [[nodiscard]] bool holds(const device::Buffer& buffer, unsigned char value) {
    std::vector<unsigned char> content(buffer.bytes());
    stream_->copy(content.data(), buffer.data(), content.size());
    stream_->wait();
    return std::all_of(content.begin(), content.end(), [=](unsigned char byte) { return byte == value; });
  }

  const Communicator& communicator_;
  device::Device& device_;
  device::Memory memory_;
  std::unique_ptr<device::Stream> stream_;
  bool valid_ = true;
};

device::Memory memory_from_arguments(int argc, char** argv) {
  if (argc == 2) return device::Memory::device;
  const auto memory =
      argc == 4 && std::string(argv[2]) == "--memory" ? from_name<device::Memory>(argv[3]) : std::nullopt;
  if (!memory) throw UsageError("probe: write commlens-bench probe --memory host, pinned, device or managed");
  return *memory;
}

int probe(device::Memory memory, std::unique_ptr<device::Device> device) {
  const Communicator communicator(MPI_COMM_WORLD);
  if (!device) device = open_rank_device(communicator.node().rank());
  Probe probe(communicator, *device, memory);
  probe.say_library();
  for (const std::size_t bytes : message_sizes) probe.ping_pong(bytes);
  probe.allreduce();
  say({{"probe", "done"}, {"rank", communicator.rank()}});
  return communicator.maximum(probe.valid() ? 0.0 : 1.0) > 0 ? 1 : 0;
}

}  // namespace

int run_probe(int argc, char** argv) {
  try {
    const auto memory = memory_from_arguments(argc, argv);
    say({{"probe", "begin"}, {"rank", -1}, {"call", "MPI_Init"}, {"bytes", 0}, {"memory", name(memory)}});
    const auto local_rank = local_rank_from_environment();
    auto device = local_rank ? open_rank_device(*local_rank) : nullptr;  // before MPI
    MPI_Init(&argc, &argv);
    const int status = probe(memory, std::move(device));
    MPI_Finalize();
    return status;
  } catch (const UsageError& error) {
    std::cerr << "commlens: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "commlens: probe: " << error.what() << '\n';
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) end_job(1);
    return 1;
  }
}

}  // namespace commlens
