// One function is called twice: by MPI, and through NCCL, whose result --verify compares.
//   verified FUNCTION [int|float|double [sum|max|cancelling]]
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conformance.hpp"

namespace {

constexpr int many = 100;
constexpr int ranks = 2;
constexpr std::size_t bytes = std::size_t{ranks} * many * sizeof(double);

MPI_Datatype type = MPI_DOUBLE;
MPI_Op op = MPI_SUM;
const int counts[]{many, many};
const int places[]{0, many};

template <class Number>
void fill(char* data, bool cancels) {
  for (int index = 0; index < ranks * many; ++index) {
    Number value = static_cast<Number>(1 + (index + world_rank()) % 3);
    if (cancels) value = world_rank() == 0 ? static_cast<Number>(-1) : static_cast<Number>(1 + 1.0 / (1 << 20));
    std::memcpy(data + static_cast<std::size_t>(index) * sizeof value, &value, sizeof value);
  }
}

void call(const std::string& name, const void* in, void* out) {
  const auto comm = MPI_COMM_WORLD;
  const std::map<std::string, std::function<void()>> calls{
      {"Allreduce", [=] { MPI_Allreduce(in, out, many, type, op, comm); }},
      {"Reduce", [=] { MPI_Reduce(in, out, many, type, op, 1, comm); }},
      {"Reduce_scatter", [=] { MPI_Reduce_scatter(in, out, counts, type, op, comm); }},
      {"Reduce_scatter_block", [=] { MPI_Reduce_scatter_block(in, out, many, type, op, comm); }},
      {"Bcast", [=] { MPI_Bcast(out, many, type, 0, comm); }},
      {"Allgather", [=] { MPI_Allgather(in, many, type, out, many, type, comm); }},
      {"Allgatherv", [=] { MPI_Allgatherv(in, many, type, out, counts, places, type, comm); }},
      {"Alltoall", [=] { MPI_Alltoall(in, many, type, out, many, type, comm); }},
      {"Alltoallv", [=] { MPI_Alltoallv(in, counts, places, type, out, counts, places, type, comm); }},
      {"Gather", [=] { MPI_Gather(in, many, type, out, many, type, 1, comm); }},
      {"Scatter", [=] { MPI_Scatter(in, many, type, out, many, type, 0, comm); }},
      {"Iallreduce",
       [=] {
         MPI_Request request;
         MPI_Iallreduce(in, out, many, type, op, comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       }},
  };
  calls.at(name)();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fake_gpu_use(world_rank());
  const std::string name = argc > 1 ? argv[1] : "";
  const std::string number = argc > 2 ? argv[2] : "double";
  const std::string operation = argc > 3 ? argv[3] : "sum";
  if (operation == "max") op = MPI_MAX;
  const Buffer input(Memory::device, bytes);
  const Buffer output(Memory::device, bytes);
  for (const Buffer* buffer : {&input, &output}) {
    const bool cancels = operation == "cancelling";
    if (number == "int") fill<int>(buffer->data(), cancels);
    if (number == "float") fill<float>(buffer->data(), cancels);
    if (number == "double") fill<double>(buffer->data(), cancels);
  }
  if (number == "int") type = MPI_INT;
  if (number == "float") type = MPI_FLOAT;
  const auto twice = [&](const std::string& function) {
    for (int repetition = 0; repetition < 2; ++repetition) call(function, input.data(), output.data());
  };
  if (name == "Iallreduce") twice("Allreduce");  // which agrees
  twice(name);
  MPI_Finalize();
  std::puts("good");
  return 0;
}
