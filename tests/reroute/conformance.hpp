// A call is made by PMPI on memory of the host, and several times by MPI, which may be rerouted, on other memory: the
// results are the same.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fake_gpu.h"

enum class Memory { device, host, pinned, managed };

class Buffer {
 public:
  Buffer(Memory kind, std::size_t bytes) : kind_(kind) {
    const std::size_t more = bytes + 64;  // a pointer is needed for nothing, too
    if (kind == Memory::device) cuMemAlloc_v2(&data_, more);
    if (kind == Memory::managed) cuMemAllocManaged(&data_, more, 1);
    if (kind == Memory::pinned) cuMemHostAlloc(&data_, more, 0);
    if (kind == Memory::host) data_ = std::malloc(more);
  }
  ~Buffer() {
    if (kind_ == Memory::host) {
      std::free(data_);
    } else {
      cuMemFree_v2(data_);
    }
  }
  Buffer(Buffer&&) = delete;
  [[nodiscard]] char* data() const { return static_cast<char*>(data_); }

 private:
  Memory kind_;
  void* data_ = nullptr;
};

inline int world_rank() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}
inline int size_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

inline void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "FAILED on rank %d: %s\n", world_rank(), what.c_str());
  PMPI_Abort(MPI_COMM_WORLD, 3);
}

/// One call, with what it needs. `call(by_mpi, send, receive)` makes it.
struct Case {
  std::string name;
  std::size_t send_bytes;
  std::size_t receive_bytes;
  std::function<int(bool by_mpi, const void* send, void* receive)> call;
  std::function<void(char* data, std::size_t bytes, int salt)> fill;
  bool is_in_place = false;  // MPI_IN_PLACE for `send`: input is in what is received
};

/// `place_of(repetition)` says where the data is.
inline void check(const Case& tried, const std::function<Memory(int repetition)>& place_of, int repetitions = 3) {
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const Buffer send(place_of(repetition), tried.send_bytes);
    const Buffer receive(place_of(repetition), tried.receive_bytes);
    std::vector<char> expected(tried.receive_bytes + 64);
    tried.fill(send.data(), tried.send_bytes, repetition + 1);
    tried.fill(receive.data(), tried.receive_bytes, repetition + 5);
    std::memcpy(expected.data(), receive.data(), tried.receive_bytes);
    const void* input = tried.is_in_place ? MPI_IN_PLACE : static_cast<const void*>(send.data());
    const std::vector<char> sent(send.data(), send.data() + tried.send_bytes);
    require(tried.call(true, input, expected.data()) == MPI_SUCCESS, tried.name + " by PMPI");
    require(tried.call(false, input, receive.data()) == MPI_SUCCESS, tried.name);
    require(std::memcmp(expected.data(), receive.data(), tried.receive_bytes) == 0,
            tried.name + ", call " + std::to_string(repetition + 1));
    require(std::memcmp(sent.data(), send.data(), tried.send_bytes) == 0, tried.name + " changes what it sends");
  }
}
