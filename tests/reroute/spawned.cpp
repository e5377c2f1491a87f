// A program and a process that it spawns, which knows nothing of the preloaded library, have a communicator.
#include <algorithm>

#include "conformance.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fake_gpu_use(world_rank());
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  const bool is_child = parent != MPI_COMM_NULL;
  MPI_Comm between = parent;
  unsetenv("LD_PRELOAD");
  if (!is_child) MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, nullptr);
  MPI_Comm all;
  MPI_Intercomm_merge(between, is_child ? 1 : 0, &all);
  constexpr int count = 1000;
  const Buffer input(Memory::device, count * sizeof(double));
  const Buffer output(Memory::device, count * sizeof(double));
  auto* numbers = reinterpret_cast<double*>(input.data());
  std::fill(numbers, numbers + count, 1.0);
  for (int call = 0; call < 3; ++call) {
    MPI_Allreduce(input.data(), output.data(), count, MPI_DOUBLE, MPI_SUM, all);
    require(reinterpret_cast<double*>(output.data())[count - 1] == size_of(all), "a sum");
  }
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  std::puts("good");
  return 0;
}
