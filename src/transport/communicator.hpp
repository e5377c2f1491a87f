// An MPI communicator that is owned, and the few collectives that the harness itself needs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/error.hpp"

namespace commlens::transport {

/// Throws Error with the call and MPI's own message.
[[noreturn]] void fail_mpi(int status, const char* call);

/// Throws like fail_mpi, unless `status` is MPI_SUCCESS. Inline: it comes with every message of a window.
inline void check_mpi(int status, const char* call) {
  if (status != MPI_SUCCESS) fail_mpi(status, call);
}

/// A duplicate of its parent, so that its messages meet nobody else's; errors come back as Error. Collective to make
/// and to destroy. Movable.
class Communicator {
 public:
  explicit Communicator(MPI_Comm parent);
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&&) = delete;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// The ranks of this communicator that share memory with this one: those of its node.
  [[nodiscard]] Communicator node() const;

  /// Owns `handle` from now on, which nobody else uses and which was made from another one of ours, whose way to tell
  /// of errors it has inherited: no call is made.
  [[nodiscard]] static Communicator owning(MPI_Comm handle, int rank, int size);

  [[nodiscard]] MPI_Comm handle() const { return handle_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  void barrier() const;
  /// Element by element, the largest over the ranks, on every rank. All ranks give the same number of values.
  void maximum(std::vector<double>& values) const;
  [[nodiscard]] double maximum(double value) const;
  [[nodiscard]] std::int64_t sum(std::int64_t value) const;
  [[nodiscard]] double sum_of_reals(double value) const;
  [[nodiscard]] std::string broadcast(const std::string& text, int root = 0) const;
  /// Every rank's text, by rank, on every rank.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;
  /// The text of the lowest rank whose text is not empty, on every rank; empty if all are.
  [[nodiscard]] std::string first(const std::string& text) const;

 private:
  Communicator() = default;
  void adopt(MPI_Comm handle);

  MPI_Comm handle_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace commlens::transport
