// --verify: a rerouted call is also made by MPI, into other memory, and the results are compared.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "agreement.hpp"
#include "gpu.hpp"
#include "operands.hpp"

namespace commlens::reroute {

/// An element in which a rerouted call differs from MPI's.
struct Difference {
  Function function;
  std::uint64_t call;     // of the function, from 1
  std::uint64_t element;  // of what the rank receives
  char expected[32];
  char found[32];
};
constexpr int max_differences = 64;
extern constinit Difference differences[max_differences];
extern constinit std::atomic<int> difference_count;

class Verification {
 public:
  Verification(const Arguments& arguments, const Operands& operands, const Signature& signature, Device& device);
  Verification(Verification&&) = delete;

  /// Makes or starts the calls of MPI, before the data can be overwritten.
  bool begin();
  bool is_done();
  /// Ends the program where there is a difference.
  void compare();
  void end();
  /// That it has taken so far.
  [[nodiscard]] std::uint64_t ticks() const { return ticks_; }

 private:
  bool begin_bound();
  void compare_block(const char* expected, const char* found, std::uint64_t first, std::uint64_t elements);
  [[nodiscard]] bool is_within_bound(double expected, double found, std::uint64_t element) const;
  void report(std::uint64_t element, const char* expected, const char* found) const;

  const Arguments& arguments_;
  const Operands& operands_;
  const Signature& signature_;
  Device& device_;
  bool is_on_;
  int ranks_ = 1;
  std::uint64_t call_ = 0;
  void* second_ = nullptr;  // what MPI receives, on the GPU
  bool is_second_on_host_ = false;
  // For floating-point sums: those of the absolute values, by which rounding is bounded.
  void* absolute_ = nullptr;
  void* absolute_sums_ = nullptr;
  MPI_Request requests_[2] = {};
  int request_count_ = 0;
  Count ticks_ = 0;
};

}  // namespace commlens::reroute
