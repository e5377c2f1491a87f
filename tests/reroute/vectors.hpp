// Sums of vectors, by which the test programs see what the library does.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "conformance.hpp"

constexpr int many = 1000;

/// A vector on the GPU.
class Vector {
 public:
  explicit Vector(int count, Memory kind = Memory::device)
      : buffer_(kind, static_cast<std::size_t>(count) * sizeof(double)), count_(count) {}
  [[nodiscard]] double* data() const { return reinterpret_cast<double*>(buffer_.data()); }
  void fill(double value) const {
    for (int index = 0; index < count_; ++index) data()[index] = value;
  }
  [[nodiscard]] bool has(double value) const {
    for (int index = 0; index < count_; ++index) {
      if (data()[index] != value) return false;
    }
    return true;
  }

 private:
  Buffer buffer_;
  int count_;
};

inline int reduce(const Vector& input, const Vector& output, MPI_Comm comm = MPI_COMM_WORLD) {
  return MPI_Allreduce(input.data(), output.data(), many, MPI_DOUBLE, MPI_SUM, comm);
}

/// Until NCCL makes the call.
inline void agree(MPI_Comm comm = MPI_COMM_WORLD) {
  const Vector input(many);
  const Vector output(many);
  input.fill(1);
  for (int call = 0; call < 2; ++call) reduce(input, output, comm);
  require(output.has(size_of(comm)), "a sum of ones");
}
