// The streams on which the overlap matrix is computed, and what is done on them.
//
//   compute        multiply 0 | multiply 1 | multiply 2 | ...
//   communication             | reduce 0, copy 0 | reduce 1, copy 1 | ...
//
// On a GPU both are its own streams, the second with the higher priority: otherwise its kernels wait until the last
// piece of the next product has begun. On the host the products run in a thread of their own, the copies in another,
// and the rank's main thread stays in MPI, which so makes progress all the time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "benchmarks/xtx/gram_matrix.hpp"
#include "benchmarks/xtx/options.hpp"
#include "device/blas.hpp"
#include "device/steps.hpp"
#include "harness/run.hpp"

namespace commlens::xtx {

namespace part {
inline constexpr const char* multiplications = "multiplications";
inline constexpr const char* reductions = "reductions";
inline constexpr const char* copies = "copies";
}  // namespace part

/// A step is a block in the order in which they are done; a slot holds the block of a step on the device, until it has
/// been copied.
class Pipeline {
 public:
  /// Both must outlive it.
  Pipeline(Run& run, const Options& options);

  /// All of S, overlapped. Ends on the run's stream.
  void operate(StepObserver* observer);
  // One part of it alone, the others left out.
  void multiply_all() { alone(&Pipeline::multiply, *compute_); }
  void reduce_all() { alone(&Pipeline::reduce, communication()); }
  void copy_all() { alone(&Pipeline::copy, communication()); }

  void reset(std::size_t round, Numbers numbers);
  [[nodiscard]] Verdict verify();

  [[nodiscard]] device::Gemm product(std::size_t step) const;
  [[nodiscard]] device::Gemm first_product() const { return product(block_of(0)); }  ///< of block 0, the largest
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }

 private:
  void multiply(std::size_t step) { run_.blas().gemm(product(step), *compute_); }
  void reduce(std::size_t step);
  void copy(std::size_t step);
  void wait_for_slot(std::size_t step);
  void alone(void (Pipeline::*work)(std::size_t step), device::Stream& stream);
  /// The run's stream waits for all that was added to a stream.
  void join(device::Stream& stream);
  [[nodiscard]] std::byte* slot(std::size_t step) const;
  [[nodiscard]] std::size_t block_of(std::size_t step) const {
    return options_.first == First::largest ? step : blocks_.count() - 1 - step;
  }
  [[nodiscard]] device::Stream& communication() { return communication_ ? *communication_ : *compute_; }

  Run& run_;
  const Options& options_;
  Blocks blocks_;
  std::size_t rows_;
  device::Buffer x_;
  device::Buffer slots_;  ///< `depth` blocks
  device::Buffer s_;      ///< all blocks, one after the other, on the host
  GramMatrix gram_;
  std::unique_ptr<device::Stream> compute_;
  std::unique_ptr<device::Stream> communication_;           ///< nullptr: everything is done on the other
  std::vector<std::unique_ptr<device::Event>> multiplied_;  ///< of each slot
  std::vector<std::unique_ptr<device::Event>> free_;        ///< of each slot
  std::unique_ptr<device::Event> done_;
  std::optional<std::size_t> written_;  ///< the seed of the numbers that X holds
};

}  // namespace commlens::xtx
