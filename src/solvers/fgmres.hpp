// Flexible GMRES with restarts, right-preconditioned, with classical Gram-Schmidt (Saad, SIAM J. Sci. Comput. 14,
// 1993): two reductions an iteration, one of a vector of inner products and one of a norm.
//
// Vectors are in double, but the basis is kept in float: half of the bytes of most of the vector operations. Inner
// products are added up in double. As the rounding of the basis remains in the solution, a cycle ends after it has
// reduced the residual by 1e-6, and the next one starts from the residual in double. What the preconditioner makes is
// kept as it is, in float: the iteration is exact for it.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "device/device.hpp"
#include "solvers/level.hpp"
#include "solvers/vector_space.hpp"
#include "transport/context.hpp"

namespace commlens::solvers {

class Fgmres {
 public:
  struct Options {
    std::size_t restart = 15;
    std::size_t iterations = 500;  ///< at most
    double tolerance = 1e-8;       ///< of the relative residual
    bool graphs = false;           ///< launch an iteration as a device::Graph; nothing in it may wait on the host
  };
  /// Queues output = M input. Collective.
  using Precondition = std::function<void(const float* input, float* output, device::Stream& stream)>;

  Fgmres(Level<double>& level, Precondition precondition, const Options& options, const Context& context,
         const Observation& observation);
  Fgmres(Fgmres&&) = delete;

  /// Solves A x = b, starting from x = 0. Collective; waits for the stream. `heartbeat` is called in every iteration.
  Solution solve(const double* b, double* x, device::Stream& stream, const std::function<void()>& heartbeat = [] {});

  /// Bytes that it allocates, at most.
  static double upper_bytes(std::size_t restart, double length);
  /// Bytes that the vector operations of `iterations` iterations read and write at least, per unknown.
  static double traffic(std::size_t restart, std::size_t iterations);

 private:
  struct Cycle;

  /// Iterates until the restart, or to the end.
  void iterate(Cycle& cycle, Solution& solution, device::Stream& stream, const std::function<void()>& heartbeat);
  /// Queues iteration j of a cycle.
  void queue_iteration(std::size_t j, device::Stream& stream);
  /// Queues its work, kernel by kernel.
  void extend_basis(std::size_t j, device::Stream& stream);
  void orthogonalize(std::size_t j, device::Stream& stream);
  /// Of iteration j of a cycle; waits for the stream.
  std::vector<double> column(std::size_t j, device::Stream& stream);
  void add_corrections(std::vector<double> y, double* x, device::Stream& stream);
  /// The first vector of the basis becomes b - A x, or b where x is nullptr. Returns its norm.
  double start(const double* b, const double* x, device::Stream& stream);
  void sum_over_ranks(double* values, std::size_t count, device::Stream& stream);
  [[nodiscard]] float* basis(std::size_t j) const { return basis_.as<float>() + j * stride_; }
  [[nodiscard]] float* correction(std::size_t j) const { return corrections_.as<float>() + j * stride_; }
  [[nodiscard]] double* squares() const { return scalars_.as<double>(); }
  [[nodiscard]] double* inverse_squares() const { return squares() + options_.restart + 1; }
  [[nodiscard]] double* products() const { return inverse_squares() + options_.restart + 1; }

  Level<double>& level_;
  Precondition precondition_;
  Options options_;
  transport::Transport& transport_;
  bool several_ranks_;
  const Observation& observation_;
  std::size_t stride_;
  double norm_of_b_ = 0;
  device::Buffer basis_;        ///< restart + 1 vectors in float, which are not scaled to length 1
  device::Buffer corrections_;  ///< restart vectors in float: the preconditioner's results
  device::Buffer wide_;         ///< double: what the operator gets
  device::Buffer image_;        ///< double: what it makes of it
  device::Buffer scalars_;
  device::Buffer scratch_;
  std::vector<double> lengths_;          ///< of the basis's vectors, which the preconditioner gets
  std::vector<device::Replay> replays_;  ///< by iteration of a cycle
};

}  // namespace commlens::solvers
