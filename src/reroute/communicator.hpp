// Communicators of NCCL, each for a group of ranks.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "ccl.hpp"
#include "gpu.hpp"
#include "names.hpp"

namespace commlens::reroute {

constexpr int max_communicators = 32;  // each takes memory of the GPU

/// A communicator of NCCL, with its stream. It outlives the communicator of MPI for which it was made, and is then used
/// for the next one of the same ranks: so a program that makes and frees communicators all the time pays once.
class CclCommunicator {
 public:
  struct Made {
    CclCommunicator* communicator;  // null: there is none on any rank, because of
    Reason refused;
  };
  /// Called by all ranks of the communicator, and with the same answer on all.
  static Made make(MPI_Comm communicator, Device* device);
  /// Its communicator of MPI has been freed.
  void release() { is_used_ = false; }

  [[nodiscard]] CclHandle handle() const { return handle_; }
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] std::atomic_flag& lock() { return lock_; }

  /// Waits for all ranks, which are within the same call.
  void wait_for_ranks() const;
  /// Lets NCCL connect each rank with each other, once: it does so in the first message between them, and waits for the
  /// other rank without progress of MPI. All ranks are within the same call.
  void connect_peers();
  /// Lets MPI make progress, and looks whether another rank, or NCCL, has failed.
  void poll();
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// This rank cannot take part any more: the others learn it while they wait.
  void fail();

 private:
  struct Facts;
  static constexpr std::uint64_t no_id = 0;
  static constexpr std::uint64_t reserved_id = ~std::uint64_t{0};
  struct Choice {
    CclCommunicator* free;
    CclCommunicator* room;
  };
  static Choice choose(MPI_Comm communicator);
  static CclCommunicator* make_in(CclCommunicator& room, MPI_Comm communicator, Device* device, std::uint64_t id);
  static CclCommunicator* find_free(MPI_Comm communicator);
  static CclCommunicator* find(std::uint64_t id);
  static Reason refusal_of(const Facts* facts, int ranks);
  bool start(MPI_Comm communicator);
  bool initialize(const CclId& id);
  bool exchange_bytes(char* bytes, Event event);
  void tell_others() const;
  [[nodiscard]] bool is_told() const;
  void stop();

  static constinit CclCommunicator all_[max_communicators];
  static constinit std::atomic_flag all_lock_;

  CclHandle handle_ = nullptr;
  Stream stream_ = nullptr;
  Device* device_ = nullptr;
  MPI_Comm own_{};                         // of MPI, for notes between the ranks
  std::atomic<std::uint64_t> id_ = no_id;  // the same on all ranks
  int rank_ = 0;
  int ranks_ = 0;
  std::atomic<std::uint64_t> polls_ = 0;
  std::atomic<bool> is_used_ = false;
  bool are_peers_connected_ = false;
  std::atomic<bool> has_failed_ = false;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
};

}  // namespace commlens::reroute
