// What the first calls on a communicator are like must not keep later ones off.
//   first_calls self-first|host-first|nothing-first|other-context|growing|large
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "conformance.hpp"

namespace {

constexpr int many = 1000;

/// MPI_Alltoallv with as many elements for each rank as `count_for` says, and as many from it.
void exchange(Memory kind, const std::function<int(int other)>& count_for) {
  const int ranks = size_of(MPI_COMM_WORLD);
  std::vector<int> counts;
  std::vector<int> places;
  for (int other = 0; other < ranks; ++other) {
    counts.push_back(count_for(other));
    places.push_back(other * many);
  }
  const std::size_t bytes = static_cast<std::size_t>(ranks * many) * sizeof(double);
  const Buffer input(kind, bytes);
  const Buffer output(kind, bytes);
  auto* sent = reinterpret_cast<double*>(input.data());
  auto* received = reinterpret_cast<double*>(output.data());
  for (int index = 0; index < ranks * many; ++index) sent[index] = world_rank();
  MPI_Alltoallv(sent, counts.data(), places.data(), MPI_DOUBLE, received, counts.data(), places.data(), MPI_DOUBLE,
                MPI_COMM_WORLD);
  for (int other = 0; other < ranks; ++other) {
    const int count = counts[static_cast<std::size_t>(other)];
    require(count == 0 || received[other * many + count - 1] == other, "what rank " + std::to_string(other) + " sends");
  }
}

int all_of(int /*other*/) { return many; }

/// The ranks have first nothing for each other, and later rank 1 needs progress of MPI in rank 0 before it comes.
void self_first() {
  for (int call = 0; call < 2; ++call) {
    exchange(Memory::device, [](int other) { return other == world_rank() ? many : 0; });
  }
  constexpr int large = 1 << 22;
  std::vector<double> message(large);
  MPI_Request request = MPI_REQUEST_NULL;
  if (world_rank() == 0) MPI_Isend(message.data(), large, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &request);
  if (world_rank() == 1) {
    usleep(100'000);
    MPI_Recv(message.data(), large, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  exchange(Memory::device, all_of);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// While the program is set up, it exchanges data on the host.
void host_first() {
  exchange(Memory::host, all_of);
  for (int call = 0; call < 100; ++call) exchange(Memory::device, all_of);
}

/// Rank 1 uses no GPU yet, and has no data.
void nothing_first() {
  if (world_rank() != 1) fake_gpu_use(world_rank());
  const Memory kind = world_rank() == 1 ? Memory::host : Memory::device;
  exchange(kind, [](int other) { return other == world_rank() && other != 1 ? many : 0; });
  fake_gpu_use(world_rank());
  for (int call = 0; call < 100; ++call) exchange(Memory::device, all_of);
}

/// Rank 1 has its data where NCCL cannot use it.
void other_context() {
  if (world_rank() == 1) fake_gpu_use_other_context(1);
  for (int call = 0; call < 4; ++call) exchange(Memory::device, all_of);
}

/// Calls for which the library needs memory of the GPU, each time more.
void growing(int first) {
  const int ranks = size_of(MPI_COMM_WORLD);
  for (int count = first; count <= 1 << 14; count *= 2) {
    const Buffer buffer(Memory::device, static_cast<std::size_t>(count * ranks) * sizeof(double));
    auto* numbers = reinterpret_cast<double*>(buffer.data());
    for (int call = 0; call < 2; ++call) {
      for (int index = 0; index < count * ranks; ++index) numbers[index] = 1;
      MPI_Reduce_scatter_block(MPI_IN_PLACE, numbers, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      require(numbers[count - 1] == ranks, "the sum of " + std::to_string(count));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string name = argc > 1 ? argv[1] : "";
  if (name != "nothing-first") fake_gpu_use(world_rank());
  if (name == "self-first") self_first();
  if (name == "host-first") host_first();
  if (name == "nothing-first") nothing_first();
  if (name == "other-context") other_context();
  if (name == "growing") growing(1 << 8);
  if (name == "large") growing(1 << 14);
  MPI_Finalize();
  std::puts("good");
  return 0;
}
